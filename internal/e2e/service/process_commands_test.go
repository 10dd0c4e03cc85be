package service

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The commands: a process that outlives the command that started it, is listed, and is attached to and left.
func TestSessionProcessCommands(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	s := harness.StartService(t, a, "--keys", file)
	ann := s.WithKey(keys["ann"])
	id := newSession(ann, "course", "commands")
	brig := commands(t, s.Url, keys["ann"])

	pid, errs, code := brig("", "session", "exec", "-d", id, "--", "sh", "-c", "echo up; read a; echo got $a; echo bad >&2; exit 7")
	if code != 0 || pid != "1\n" {
		t.Fatalf("exec -d: %q, %q, exit code %d", pid, errs, code)
	}
	list, _, code := brig("", "session", "ps", id)
	if code != 0 || !strings.Contains(list, "running") || !strings.Contains(list, "read a") {
		t.Errorf("ps: %q, exit code %d", list, code)
	}
	out, errs, code := brig("typed\n", "session", "attach", id, "1")
	if out != "up\ngot typed\n" || errs != "bad\n" || code != 7 {
		t.Errorf("attach: %q, %q, exit code %d", out, errs, code)
	}
	out, _, code = brig("", "session", "attach", "--since", "3", id, "1")
	if out != "got typed\n" || code != 7 {
		t.Errorf("attach after the end: %q, exit code %d", out, code)
	}
	if list, _, _ := brig("", "session", "ps", id); !strings.Contains(list, "nonzero") {
		t.Errorf("ps after the end: %q", list)
	}

	for _, args := range [][]string{
		{"session", "attach", id, "9"}, {"session", "attach", id}, {"session", "attach", id, "x"}, {"session", "ps"},
		{"session", "exec", "-d", "--json", id, "--", "true"}, {"session", "exec", "--url", s.Url, id, "--", "true"},
		{"session", "exec", "-d", id},
	} {
		if out, errs, code := brig("", args...); code == 0 || out != "" || errs == "" {
			t.Errorf("%q: %q, %q, exit code %d", args, out, errs, code)
		}
	}
}

// commands executes brig for a service.
func commands(t *testing.T, url, key string) func(stdin string, args ...string) (stdout, stderr string, code int) {
	return func(stdin string, args ...string) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), harness.Binary(t, "brig"), args...)
		cmd.Env = append(os.Environ(), "BRIG_URL="+url, "BRIG_API_KEY="+key)
		cmd.Stdin = strings.NewReader(stdin)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
}
