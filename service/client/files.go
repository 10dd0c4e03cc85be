package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// Files gives access to the files of a session: in /box, or in its volume.
type Files struct {
	client *Client
	of     api.SessionFiles
}

// Box gives access to the files in /box of a session, which are removed with it.
func (c *Client) Box(session string) Files { return Files{c, api.SessionFiles{Session: session}} }

// Workspace gives access to the files of a session's volume, which is mounted at /workspace.
func (c *Client) Workspace(session string) Files {
	return Files{c, api.SessionFiles{Session: session, Volume: true}}
}

// Put stores content under name and replaces an existing file, completely or not at all. It makes
// missing directories.
func (f Files) Put(ctx context.Context, name string, content io.Reader, executable bool) error {
	res, err := f.request(ctx, http.MethodPut, name, executable, content)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// Get writes a regular file's content to to. If it fails, a part may have been written.
func (f Files) Get(ctx context.Context, name string, to io.Writer) error {
	res, err := f.request(ctx, http.MethodGet, name, false, nil)
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
	res, err := f.request(ctx, http.MethodDelete, name, false, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// List lists the contents of a directory; an empty dir lists everything.
func (f Files) List(ctx context.Context, dir string) (l api.FileList, err error) {
	return l, f.client.call(ctx, http.MethodGet, f.of.List(dir), nil, &l)
}

// request sends one request about one file. The caller must close the answer's body.
func (f Files) request(ctx context.Context, method, name string, executable bool,
	content io.Reader) (*http.Response, error) {
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
