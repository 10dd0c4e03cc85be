package mcp

import (
	"cmp"
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// CreateSession are the arguments of create_session.
type CreateSession struct {
	Language string  `json:"language,omitempty" jsonschema:"language whose tools the session has; none: python"`
	Idle     float64 `json:"idle_minutes,omitempty" jsonschema:"the session ends after so many minutes without a call; none: 5"`
	Memory   string  `json:"memory,omitempty" jsonschema:"most memory of everything in the session, such as 512M; none: brig's default"`
}

// planSession makes the request of create_session.
func planSession(in CreateSession) (request api.SessionRequest, err error) {
	request.Language = cmp.Or(in.Language, "python")
	if request.Idle, err = spanOf("idle_minutes", in.Idle, time.Minute); err != nil {
		return request, err
	}
	if request.Limits.Memory, err = sizeOf(in.Memory); err != nil {
		return request, err
	}
	return request, request.Validate()
}

// A Session is the answer of create_session.
type Session struct {
	ID      string `json:"session_id" jsonschema:"id of the session, for other calls"`
	Expires string `json:"expires" jsonschema:"when it ends at the latest, RFC 3339"`
	Idle    string `json:"idle" jsonschema:"it ends after this time without a call"`
}

func tellSession(s api.Session) Session {
	return Session{ID: s.ID, Expires: s.Ends, Idle: time.Duration(s.Idle).String()}
}

func (s Session) text() string {
	return fmt.Sprintf("session_id: %s\nIt ends after %s without a call, at the latest at %s.\n", s.ID, s.Idle, s.Expires)
}

// RunCommand are the arguments of run_command.
type RunCommand struct {
	Session string  `json:"session_id" jsonschema:"id of the session"`
	Command Command `json:"command" jsonschema:"the command: a line for sh, or a list of words, which no shell reads"`
	Stdin   string  `json:"stdin,omitempty" jsonschema:"what the command reads from stdin; none: end of file at once"`
	Timeout float64 `json:"timeout_seconds,omitempty" jsonschema:"longest time the command may take; none: brig's default"`
}

// planCommand makes the exec of run_command.
func planCommand(in RunCommand) (e api.Exec, err error) {
	e = api.Exec{Argv: in.Command, Stdin: api.Bytes(in.Stdin)}
	if e.Limits, err = limitsOf(in.Timeout, ""); err != nil {
		return e, err
	}
	return e, e.Validate()
}

// EndSession are the arguments of end_session.
type EndSession struct {
	Session string `json:"session_id" jsonschema:"id of the session"`
}

// Done is the answer of a tool that only does something.
type Done struct {
	Done string `json:"done" jsonschema:"what was done"`
}

func (d Done) text() string { return d.Done + "\n" }

// addSessions adds the tools that make, use and end sessions.
func addSessions(s *sdk.Server, of runnerOf) {
	add(s, tool{name: "create_session", title: "Create a session", effect: another,
		about: "Create a sandbox whose files and processes last from one call to the next, until it ends."},
		func(ctx context.Context, in CreateSession) (Session, error) {
			request, err := planSession(in)
			if err != nil {
				return Session{}, err
			}
			made, err := of(ctx).CreateSession(ctx, request)
			return tellSession(made), err
		})

	add(s, tool{name: "run_command", title: "Run a command", effect: another,
		about: "Run a command in a session, in /box, and return how it ended, and what it printed."},
		func(ctx context.Context, in RunCommand) (Outcome, error) {
			e, err := planCommand(in)
			if err != nil {
				return Outcome{}, err
			}
			res, err := of(ctx).Exec(ctx, in.Session, e)
			return outcomeOf(res), err
		})

	add(s, tool{name: "end_session", title: "End a session", effect: same,
		about: "End a session and remove its files and processes."},
		func(ctx context.Context, in EndSession) (Done, error) {
			return Done{"the session " + in.Session + " has ended"}, of(ctx).EndSession(ctx, in.Session)
		})
}
