package runtime

import (
	"context"
	"io"

	"github.com/brig-sandbox/brig/api"
)

// What callers may do with the files of sessions by their absolute paths. See session.Registry.

// PathStatus describes what has a path; of a link, with follow, what it leads to.
func (h *Host) PathStatus(ctx context.Context, id, path string, follow bool, c api.Caller) (api.PathStatus, error) {
	return h.sessions.PathStatus(ctx, id, path, follow, c)
}

// ListPath lists what is below a directory.
func (h *Host) ListPath(ctx context.Context, id, path string, l api.PathListing, hold func(bytes int64) error,
	c api.Caller) (api.PathList, error) {
	return h.sessions.ListPath(ctx, id, path, l, hold, c)
}

// OpenPath opens a part of a regular file.
func (h *Host) OpenPath(ctx context.Context, id, path string, offset, length int64, c api.Caller) (api.PathContent, error) {
	return h.sessions.OpenPath(ctx, id, path, offset, length, c)
}

// PutPath writes a file.
func (h *Host) PutPath(ctx context.Context, id, path string, mode *uint32, content io.Reader, c api.Caller) error {
	return h.sessions.PutPath(ctx, id, path, mode, content, c)
}

// MakeDir makes a directory and those on its path.
func (h *Host) MakeDir(ctx context.Context, id, path string, mode *uint32, c api.Caller) (api.PathMade, error) {
	return h.sessions.MakeDir(ctx, id, path, mode, c)
}

// LinkPath makes a symbolic link.
func (h *Host) LinkPath(ctx context.Context, id, path, target string, c api.Caller) error {
	return h.sessions.LinkPath(ctx, id, path, target, c)
}

// MovePath renames.
func (h *Host) MovePath(ctx context.Context, id, from, to string, replace bool, c api.Caller) error {
	return h.sessions.MovePath(ctx, id, from, to, replace, c)
}

// RemovePath removes.
func (h *Host) RemovePath(ctx context.Context, id, path string, recursive bool, c api.Caller) error {
	return h.sessions.RemovePath(ctx, id, path, recursive, c)
}
