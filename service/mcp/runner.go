package mcp

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/client"
)

// A Runner is what the tools call: a service, or the agent of this machine.
type Runner interface {
	Languages(ctx context.Context) ([]api.Language, error)
	Run(ctx context.Context, r api.Run, w Watch) (api.Result, error)

	CreateSession(ctx context.Context, request api.SessionRequest) (api.Session, error)
	Exec(ctx context.Context, session string, e api.Exec) (api.Result, error)
	EndSession(ctx context.Context, session string) error

	PutFile(ctx context.Context, session, name string, content io.Reader, executable bool) error
	GetFile(ctx context.Context, session, name string, to io.Writer) error
	DeleteFile(ctx context.Context, session, name string) error
	ListFiles(ctx context.Context, session, dir string) (api.FileList, error)
}

// A Watch is told of a run while it lasts, as far as its Runner learns of it. The calls never overlap. The zero Watch:
// nobody asks.
type Watch struct {
	Started func() // it has a slot; maybe called more than once
	Tested  func() // a test has ended
}

// IsZero reports whether nobody asks.
func (w Watch) IsZero() bool { return w.Started == nil && w.Tested == nil }

// A Service is a Runner that calls a service over HTTP.
type Service struct{ *client.Client }

// Run has the service execute a run. The end of ctx ends the run.
func (s Service) Run(ctx context.Context, r api.Run, w Watch) (api.Result, error) {
	if w.IsZero() {
		return s.Client.Run(ctx, r)
	}

	begun, err := s.Begin(ctx, r)
	if err != nil {
		return api.Result{}, err
	}
	res, err := s.follow(ctx, begun.Run, w)
	if ctx.Err() != nil { // a run that was begun has no request whose end would end it
		stop, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer done()
		_, _ = s.Cancel(stop, begun.Run) // nobody waits for the run any more
	}
	return res, err
}

// cancelTime is how long the request may take that ends a run.
const cancelTime = 10 * time.Second

// follow waits for the result of a run.
func (s Service) follow(ctx context.Context, run string, w Watch) (res api.Result, err error) {
	told := false
	err = s.Events(ctx, run, func(e client.Event) error {
		switch {
		case e.Name == api.EventStarted && w.Started != nil:
			w.Started()
		case e.Name == api.EventTest && w.Tested != nil:
			w.Tested()
		case e.Name == api.EventResult:
			told = true
			return json.Unmarshal(e.Data, &res)
		case e.Name == api.EventError:
			p := new(api.Problem)
			if err := json.Unmarshal(e.Data, p); err != nil {
				return err
			}
			return p
		}
		return nil
	})
	if err == nil && !told {
		err = io.ErrUnexpectedEOF
	}
	return res, err
}

// Record returns what became of a run.
func (s Service) Record(ctx context.Context, id string) (api.Status, error) { return s.Status(ctx, id) }

// PutFile stores a file in /box of a session.
func (s Service) PutFile(ctx context.Context, session, name string, content io.Reader, executable bool) error {
	return s.Box(session).Put(ctx, name, content, executable)
}

// GetFile writes the content of a file in /box of a session to to.
func (s Service) GetFile(ctx context.Context, session, name string, to io.Writer) error {
	return s.Box(session).Get(ctx, name, to)
}

// DeleteFile removes a name in /box of a session.
func (s Service) DeleteFile(ctx context.Context, session, name string) error {
	return s.Box(session).Delete(ctx, name)
}

// ListFiles lists a directory in /box of a session.
func (s Service) ListFiles(ctx context.Context, session, dir string) (api.FileList, error) {
	return s.Box(session).List(ctx, dir)
}
