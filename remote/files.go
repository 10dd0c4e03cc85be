package remote

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// Files are those of a session: in /box, or in its volume.
type Files struct {
	client *Client
	of     api.FilesOf
}

// Box gives the files of a session that end with it.
func (c *Client) Box(session string) Files { return Files{c, api.FilesOf{Session: session}} }

// Workspace gives the files of a session's volume, which it has at /workspace.
func (c *Client) Workspace(session string) Files {
	return Files{c, api.FilesOf{Session: session, Volume: true}}
}

// Put puts what content holds under name, instead of what may be there: whole, or not at
// all. The directories on its way are made.
func (f Files) Put(ctx context.Context, name string, content io.Reader, executable bool) error {
	res, err := f.ask(ctx, http.MethodPut, name, executable, content)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Get writes a regular file's content to to. After an error some of it may have been
// written.
func (f Files) Get(ctx context.Context, name string, to io.Writer) error {
	res, err := f.ask(ctx, http.MethodGet, name, false, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(to, res.Body); err != nil {
		return fmt.Errorf("get file %q: %w", name, err)
	}
	return nil
}

// Delete removes a name: a file, a link, or an empty directory.
func (f Files) Delete(ctx context.Context, name string) error {
	res, err := f.ask(ctx, http.MethodDelete, name, false, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// List lists what lies below a directory; an empty one is all.
func (f Files) List(ctx context.Context, dir string) (l api.FileList, err error) {
	return l, f.client.call(ctx, http.MethodGet, f.of.List(dir), nil, &l)
}

// ask does one thing with one file. The answer's body is the caller's to close.
func (f Files) ask(ctx context.Context, method, name string, executable bool, content io.Reader) (*http.Response, error) {
	path, err := f.of.File(name, executable)
	if err != nil {
		return nil, err
	}
	kind := ""
	if content != nil {
		kind = "application/octet-stream"
	}
	res, err := f.client.do(ctx, method, path, kind, content)
	if err != nil {
		return nil, err
	}
	if err := refusal(res); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}
