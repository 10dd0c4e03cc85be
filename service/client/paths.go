package client

import (
	"context"
	"fmt"
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
	return s, p.client.call(ctx, http.MethodGet, p.of.Status(path, follow), nil, &s)
}

// List lists what is below a directory.
func (p Paths) List(ctx context.Context, path string, l api.PathListing) (found api.PathList, err error) {
	return found, p.client.call(ctx, http.MethodGet, p.of.List(path, l), nil, &found)
}

// Get writes a regular file's content to to. If it fails, a part may have been written.
func (p Paths) Get(ctx context.Context, path string, to io.Writer) error {
	return p.read(ctx, p.of.Content(path, ""), to)
}

// Put writes a file, and replaces an existing one, completely or not at all. It makes missing directories. An empty
// mode is that of the file that is replaced, or 0644.
func (p Paths) Put(ctx context.Context, path, mode string, content io.Reader) error {
	return p.write(ctx, p.of.Content(path, mode), "application/octet-stream", content, nil)
}

// MakeDir makes a directory, and missing ones on its path. An empty mode is 0755.
func (p Paths) MakeDir(ctx context.Context, path, mode string) (made api.PathMade, err error) {
	return made, p.client.call(ctx, http.MethodPost, p.of.MakeDir(path, mode), nil, &made)
}

// Link makes a symbolic link.
func (p Paths) Link(ctx context.Context, path, target string) error {
	return p.client.call(ctx, http.MethodPost, p.of.Link(path, target), nil, nil)
}

// Move renames. With replace it replaces what has the new path.
func (p Paths) Move(ctx context.Context, from, to string, replace bool) error {
	return p.client.call(ctx, http.MethodPost, p.of.Move(from, to, replace), nil, nil)
}

// Remove removes a file, a link, or a directory: an empty one, or with recursive everything in it.
func (p Paths) Remove(ctx context.Context, path string, recursive bool) error {
	return p.client.call(ctx, http.MethodDelete, p.of.Remove(path, recursive), nil, nil)
}

// GetTar writes what is below a directory to to, as a tar. If it fails, a part may have been written.
func (p Paths) GetTar(ctx context.Context, path string, to io.Writer) error {
	return p.read(ctx, p.of.Tar(path), to)
}

// PutTar unpacks an uncompressed tar into a directory. If it fails, what was unpacked before stays.
func (p Paths) PutTar(ctx context.Context, path string, archive io.Reader) (done api.Unpacked, err error) {
	return done, p.write(ctx, p.of.Tar(path), "application/x-tar", archive, &done)
}

func (p Paths) read(ctx context.Context, address string, to io.Writer) error {
	res, err := p.client.do(ctx, http.MethodGet, address, "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := refusal(res); err != nil {
		return err
	}
	if _, err := io.Copy(to, res.Body); err != nil {
		return fmt.Errorf("get %s: %w", res.Request.URL.Path, err)
	}
	return nil
}

func (p Paths) write(ctx context.Context, address, kind string, content io.Reader, answer any) error {
	res, err := p.client.do(ctx, http.MethodPut, address, kind, content)
	if err != nil {
		return err
	}
	return p.client.answer(res, answer)
}
