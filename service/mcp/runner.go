package mcp

import (
	"context"
	"io"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/client"
)

// A Runner is what the tools call: a service, or the agent of this machine.
type Runner interface {
	Languages(ctx context.Context) ([]api.Language, error)
	Run(ctx context.Context, r api.Run) (api.Result, error)

	CreateSession(ctx context.Context, request api.SessionRequest) (api.Session, error)
	Exec(ctx context.Context, session string, e api.Exec) (api.Result, error)
	EndSession(ctx context.Context, session string) error

	PutFile(ctx context.Context, session, name string, content io.Reader, executable bool) error
	GetFile(ctx context.Context, session, name string, to io.Writer) error
	DeleteFile(ctx context.Context, session, name string) error
	ListFiles(ctx context.Context, session, dir string) (api.FileList, error)
}

// A Service is a Runner that calls a service over HTTP.
type Service struct{ *client.Client }

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
