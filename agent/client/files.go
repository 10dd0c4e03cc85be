package client

import (
	"context"
	"errors"
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
func (c *Client) Box(id string) Files { return Files{c, api.SessionFiles{Session: id}} }

// Workspace gives access to the files of a session's volume, which is mounted at /workspace.
func (c *Client) Workspace(id string) Files {
	return Files{c, api.SessionFiles{Session: id, Volume: true}}
}

// Put is Client.PutFile.
func (f Files) Put(ctx context.Context, name string, content io.Reader, executable bool) error {
	path, err := f.of.File(name, executable)
	if err != nil {
		return err
	}
	return f.client.call(ctx, http.MethodPut, path, content, &struct{}{})
}

// Get is Client.GetFile.
func (f Files) Get(ctx context.Context, name string, to io.Writer) error {
	path, err := f.of.File(name, false)
	if err != nil {
		return err
	}

	return f.client.download(ctx, path, nil, to)
}

// download writes the body of a response to a writer. If an error is returned, the writer may have a part of it.
// begin, if not nil, gets the header before.
func (c *Client) download(ctx context.Context, path string, begin func(http.Header) error, to io.Writer) error {
	k, err := c.get(ctx, true)
	if err != nil {
		return err
	}
	defer k.Close()

	stop := context.AfterFunc(ctx, func() { k.Close() })
	defer stop()

	res, _, err := k.request(http.MethodGet, path, "", nil, nil)
	if err == nil && res.StatusCode != http.StatusOK {
		answer, err := readAnswer(res)
		if err != nil {
			return agentGone(err, true)
		}
		return refusal(http.MethodGet, res, answer)
	}
	if err == nil && begin != nil {
		if berr := begin(res.Header); berr != nil {
			return berr
		}
	}
	if err == nil {
		w := &writer{to: to}
		if _, err = io.CopyBuffer(w, res.Body, make([]byte, 128<<10)); w.err != nil {
			return w.err
		}
	}

	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return agentGone(err, true)
	}

	return nil
}

// A writer records its own errors, to distinguish them from errors of the reader.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.err = errors.Join(w.err, err)
	return n, err
}

// Delete is Client.DeleteFile.
func (f Files) Delete(ctx context.Context, name string) error {
	path, err := f.of.File(name, false)
	if err != nil {
		return err
	}
	return f.client.call(ctx, http.MethodDelete, path, nil, &struct{}{})
}

// List is Client.ListFiles.
func (f Files) List(ctx context.Context, dir string) (l api.FileList, err error) {
	err = f.client.call(ctx, http.MethodGet, f.of.List(dir), nil, &l)
	return l, err
}

// Files are the files of a session in /box, or those of its volume.
func (c *Client) Files(session string, volume bool) Files {
	if volume {
		return c.Workspace(session)
	}
	return c.Box(session)
}
