package e2e

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// session creates a session in the tiny image, modified by change, and ends it with the test.
func (a *agent) session(t testing.TB, change func(s *api.SessionRequest)) api.Session {
	t.Helper()
	ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB, Scratch: 16 * api.MiB}}
	if change != nil {
		change(&ask)
	}
	s, err := a.CreateSession(t.Context(), ask)
	if err != nil {
		t.Fatalf("create a session: %v\n%s", err, a.log)
	}
	return s
}

// exec runs a shell script in a session.
func (a *agent) exec(t testing.TB, id, script string) api.Result {
	t.Helper()
	return a.execute(t, id, api.Exec{Argv: []string{"/bin/sh", "-c", script}})
}

func (a *agent) execute(t testing.TB, id string, e api.Exec) api.Result {
	t.Helper()
	res, err := a.Exec(t.Context(), id, e)
	for tries := 1; agentStood(err) && tries < 10; tries++ {
		res, err = a.Exec(t.Context(), id, e)
	}
	if err != nil {
		t.Fatalf("exec %q: %v\n%s", e.Argv, err, a.log)
	}
	return res
}

// wantOutput demands an exec's output and that it ends well.
func (a *agent) wantOutput(t testing.TB, id, script, want string) {
	t.Helper()
	res := a.exec(t, id, script)
	if res.Verdict != api.OK || string(res.Stdout) != want {
		t.Errorf("%s: %s, %q (stderr %q); want ok, %q", script, res.Verdict, res.Stdout, res.Stderr, want)
	}
}

// wantCode demands an error of brig's with a code.
func wantCode(t testing.TB, err error, code api.Code) *api.Error {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("the error is %v; want one with code %s", err, code)
		return &api.Error{}
	}
	return e
}

// What an exec leaves is there for the next: files, /tmp, the session's environment, and a
// background process, which is counted.
func TestSessionKeepsWhatExecsLeave(t *testing.T) {
	a := startAgent(t)
	s := a.session(t, func(s *api.SessionRequest) { s.Env = map[string]string{"COLOUR": "red"} })
	if s.State != api.SessionQuiet || s.ID == "" || s.Limits.Memory != 64*api.MiB || s.ExecLimits.Memory != 64*api.MiB {
		t.Errorf("a new session is %+v", s)
	}

	a.wantOutput(t, s.ID, "echo one > file; echo two > /tmp/file; echo $COLOUR; pwd", "red\n/box\n")
	a.wantOutput(t, s.ID, "cat file /tmp/file", "one\ntwo\n")
	a.startBackground(t, s.ID)
	a.wantOutput(t, s.ID, "ls -d /proc/1 2>&1 | grep -c '^/proc/1$' || true", "0\n")
	now, err := a.Session(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if now.Execs != 5 || now.Running != 0 || now.State != api.SessionQuiet || now.IdleEnds == "" {
		t.Errorf("after five execs: %+v", now)
	}
	if p := now.Usage.Processes.Value; p == nil || *p < 1 || *p > 2 {
		t.Errorf("processes: %v; want the one in the background", now.Usage.Processes)
	}
	if m := now.Usage.Memory.Value; m == nil || *m <= 0 || now.Usage.Inodes != 2 {
		t.Errorf("usage: %+v; want memory, and two files", now.Usage)
	}

	res := a.execute(t, s.ID,
		api.Exec{Argv: []string{"/bin/sh", "-c", "cat; echo late > new"}, Stdin: []byte("input"), Collect: api.Collect{Globs: []string{"new"}}})
	if string(res.Stdout) != "input" || len(res.Files) != 1 || string(res.Files[0].Content) != "late\n" || res.Host.Mode != api.InSession {
		t.Errorf("stdin, collected and mode: %q, %+v, %s", res.Stdout, res.Files, res.Host.Mode)
	}

	var out, errs bytes.Buffer
	res, err = a.ExecStream(t.Context(), s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", "cat; echo no >&2; exit 3"}},
		strings.NewReader("streamed"), &out, &errs)
	if err != nil || res.ExitCode != 3 || out.String() != "streamed" || errs.String() != "no\n" {
		t.Errorf("streamed: %+v, %v, %q, %q", res.Verdict, err, &out, &errs)
	}

	begun := time.Now()
	if err := a.DeleteSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > slow(20*time.Second) {
		t.Errorf("its end took %s", took)
	}

	_, err = a.Client.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"true"}})
	if e := wantCode(t, err, api.CodeSessionEnded); !strings.Contains(e.Message, "it was deleted") {
		t.Errorf("one that was deleted says: %s", e.Message)
	}
	if all, err := a.Sessions(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("sessions: %+v, %v; want none", all, err)
	}

	_, err = a.Session(t.Context(), "nosuch")
	wantCode(t, err, api.CodeNotFound)
}
