package client

import (
	"context"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// Paths gives access to the files of a session by their absolute paths, with the rights of the session's
// programs. Paths may have any bytes but zero.
type Paths struct {
	client *Client
	of     api.SessionPaths
}

// Paths gives access to the files of a session by their absolute paths.
func (c *Client) Paths(session string) Paths { return Paths{c, api.SessionPaths{Session: session}} }

// Status describes what has a path: a link itself, or with follow what it leads to.
func (p Paths) Status(ctx context.Context, path string, follow bool) (s api.PathStatus, err error) {
	err = p.client.call(ctx, http.MethodGet, p.of.Status(path, follow), nil, &s)
	return s, err
}

// List lists what is below a directory.
func (p Paths) List(ctx context.Context, path string, l api.PathListing) (found api.PathList, err error) {
	err = p.client.call(ctx, http.MethodGet, p.of.List(path, l), nil, &found)
	return found, err
}

// Get writes a part of a regular file to to: length bytes from offset on, or if offset is negative, so many from
// the end; a negative length is all that follows. begin, if not nil, is called before the first byte, and its
// error ends the call. If Get fails, some bytes may have been written.
func (p Paths) Get(ctx context.Context, path string, offset, length int64, begin func(api.Part) error, to io.Writer) error {
	return p.client.download(ctx, p.of.Part(path, offset, length), func(h http.Header) error {
		part, err := api.ParsePart(h.Get(api.PartHeader))
		if err != nil {
			return api.Refuse(api.CodeAgentGone, "the agent does not say what it sends: %w", err)
		}
		if begin != nil {
			return begin(part)
		}
		return nil
	}, to)
}

// Put writes a file, and replaces an existing one, completely or not at all. It makes missing directories. An empty
// mode is that of the file that is replaced, or 0644.
func (p Paths) Put(ctx context.Context, path, mode string, content io.Reader) error {
	return p.client.call(ctx, http.MethodPut, p.of.Content(path, mode), content, &struct{}{})
}

// MakeDir makes a directory, and missing ones on its path. An empty mode is 0755.
func (p Paths) MakeDir(ctx context.Context, path, mode string) (made api.PathMade, err error) {
	err = p.client.call(ctx, http.MethodPost, p.of.MakeDir(path, mode), nil, &made)
	return made, err
}

// Link makes a symbolic link.
func (p Paths) Link(ctx context.Context, path, target string) error {
	return p.client.call(ctx, http.MethodPost, p.of.Link(path, target), nil, &struct{}{})
}

// Move renames. With replace it replaces what has the new path.
func (p Paths) Move(ctx context.Context, from, to string, replace bool) error {
	return p.client.call(ctx, http.MethodPost, p.of.Move(from, to, replace), nil, &struct{}{})
}

// Remove removes a file, a link, or a directory: an empty one, or with recursive everything in it.
func (p Paths) Remove(ctx context.Context, path string, recursive bool) error {
	return p.client.call(ctx, http.MethodDelete, p.of.Remove(path, recursive), nil, &struct{}{})
}
