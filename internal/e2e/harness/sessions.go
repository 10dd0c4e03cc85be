package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// NewSession creates a session in the tiny image, modified by change, and ends it with the test.
func (a *Agent) NewSession(t testing.TB, change func(s *api.SessionRequest)) api.Session {
	t.Helper()
	ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB, Scratch: 16 * api.MiB}}
	if change != nil {
		change(&ask)
	}
	s, err := a.CreateSession(t.Context(), ask)
	if err != nil {
		t.Fatalf("create a session: %v\n%s", err, a.Log)
	}
	return s
}

// Shell runs a shell script in a session.
func (a *Agent) Shell(t testing.TB, id, script string) api.Result {
	t.Helper()
	return a.MustExec(t, id, api.Exec{Argv: []string{"/bin/sh", "-c", script}})
}

// MustExec executes e in a session and fails the test when brig itself fails.
func (a *Agent) MustExec(t testing.TB, id string, e api.Exec) api.Result {
	t.Helper()
	res, err := a.Exec(t.Context(), id, e)
	for tries := 1; AgentStood(err) && tries < 10; tries++ {
		res, err = a.Exec(t.Context(), id, e)
	}
	if err != nil {
		t.Fatalf("exec %q: %v\n%s", e.Argv, err, a.Log)
	}
	return res
}

// WantOutput demands an exec's output and that it ends well.
func (a *Agent) WantOutput(t testing.TB, id, script, want string) {
	t.Helper()
	res := a.Shell(t, id, script)
	if res.Verdict != api.OK || string(res.Stdout) != want {
		t.Errorf("%s: %s, %q (stderr %q); want ok, %q", script, res.Verdict, res.Stdout, res.Stderr, want)
	}
}

// WantCode demands an error of brig's with a code.
func WantCode(t testing.TB, err error, code api.Code) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("the error is %v; want one with code %s", err, code)
		return &api.Error{}
	}
	return e
}

// Put puts a file into a session; get gets one.
func (a *Agent) Put(t testing.TB, id, name, content string) {
	t.Helper()
	if err := a.PutFile(t.Context(), id, name, strings.NewReader(content), false); err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
}

// ShellExec is an exec of a shell script.
func ShellExec(script string) api.Exec {
	return api.Exec{Argv: []string{"/bin/sh", "-c", script}}
}

// An executor is the agent's client or the service's.
type executor interface {
	Exec(ctx context.Context, id string, e api.Exec) (api.Result, error)
}

// LongExec starts an exec that prints a word and would take a minute, and delivers its result.
func LongExec(t *testing.T, in executor, id string) <-chan api.Result {
	t.Helper()
	done := make(chan api.Result, 1)
	begun := rand.Text()
	go func() {
		res, err := in.Exec(context.Background(), id, ShellExec("echo word; touch "+begun+"; sleep 60"))
		if err != nil {
			t.Errorf("an exec that had begun when its session ended gets %v", err)
		}
		done <- res
	}()

	Eventually(t, "the exec to begin", func() bool {
		res, err := in.Exec(t.Context(), id, ShellExec("test -e "+begun))
		return err == nil && res.Verdict == api.OK
	})
	return done
}

// WantSessionEnded checks the result of a LongExec whose session has ended.
func WantSessionEnded(t *testing.T, res api.Result, why string) {
	t.Helper()
	if res.Verdict != api.Canceled || string(res.Stdout) != "word\n" || !strings.Contains(res.SessionEnded, why) ||
		res.Usage.Memory.Value == nil {
		t.Errorf("the running exec gets %s, %q, session %q, usage %+v; want canceled, its output and %q", res.Verdict, res.Stdout,
			res.SessionEnded, res.Usage, why)
	}
}
