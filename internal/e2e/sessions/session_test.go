package sessions

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// What an exec leaves is there for the next: files, /tmp, the session's environment, and a
// background process, which is counted.
func TestSessionKeepsWhatExecsLeave(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, func(s *api.SessionRequest) { s.Env = map[string]string{"COLOUR": "red"} })
	if s.State != api.SessionQuiet || s.ID == "" || s.Limits.Memory != 64*api.MiB || s.ExecLimits.Memory != 64*api.MiB {
		t.Errorf("a new session is %+v", s)
	}

	a.WantOutput(t, s.ID, "echo one > file; echo two > /tmp/file; echo $COLOUR; pwd", "red\n/box\n")
	a.WantOutput(t, s.ID, "cat file /tmp/file", "one\ntwo\n")
	startBackground(t, a, s.ID)
	a.WantOutput(t, s.ID, "ls -d /proc/1 2>&1 | grep -c '^/proc/1$' || true", "0\n")
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

	res := a.MustExec(t, s.ID,
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
	if took := time.Since(begun); took > harness.Slow(20*time.Second) {
		t.Errorf("its end took %s", took)
	}

	_, err = a.Client.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"true"}})
	if e := harness.WantCode(t, err, api.CodeSessionEnded); !strings.Contains(e.Message, "it was deleted") {
		t.Errorf("one that was deleted says: %s", e.Message)
	}
	if all, err := a.Sessions(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("sessions: %+v, %v; want none", all, err)
	}

	_, err = a.Session(t.Context(), "nosuch")
	harness.WantCode(t, err, api.CodeNotFound)
}
