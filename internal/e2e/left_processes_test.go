package e2e

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// TestOutputOfLeftProcesses has programs whose main process ends before others that write to its output. What
// arrives and how the run ends is always the same.
func TestOutputOfLeftProcesses(t *testing.T) {
	a := startAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	images.load(t, a, "bash")
	cases := []struct {
		name, script, stdout string
		verdict              api.Verdict
		exit                 int
	}{
		{"output through a process substitution", "exec > >(tee -a file.log) 2>&1\necho one\necho two\nexit 3", "one\ntwo\n", api.Nonzero, 3},
		{"a loop into a process substitution", "for i in 1 2 3; do echo \"line $i\"; done > >(sort -r)", "line 3\nline 2\nline 1\n", api.OK, 0},
		{"a chain of them", "exec > >(tr a-z A-Z | sort | tee x)\necho abc\necho xyz", "ABC\nXYZ\n", api.OK, 0},
		{"a child that computes", "(i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo late) & echo now", "now\nlate\n", api.OK, 0},
		{"much output", "yes 0123456789abcdef | head -n 100000 > >(cat)", strings.Repeat("0123456789abcdef\n", 100000), api.OK, 0},
		{"a sleeper is not waited for", "sleep 1000 & echo now", "now\n", api.OK, 0},
		{"nor one that has only stderr", "sleep 1000 >/dev/null & echo now", "now\n", api.OK, 0},
		{"nor a server", "mkfifo f; (read x < f; echo never) & echo now", "now\n", api.OK, 0},
		{"nor a spinner without the pipes",
			"(exec >/dev/null 2>&1; : >closed; while :; do :; done) & until [ -e closed ]; do :; done; echo now", "now\n", api.OK, 0},
		{"a spinner meets the limit", "(while :; do :; done) & echo now", "now\n", api.CPULimit, 0},
	}

	request := func(script string) api.Run {
		return api.Run{Language: "bash", Source: api.Bytes(script), Limits: api.Limits{Wall: slowly(100), CPU: seconds(3)}}
	}

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for range soak(5) {
				res := a.run(t, request(c.script))
				if res.Verdict != c.verdict || res.ExitCode != c.exit || string(res.Stdout) != c.stdout {
					t.Fatalf("run: %s, exit code %d, stdout %.100q (%d bytes), stderr %q; want %s, %d, %.100q", res.Verdict, res.ExitCode, res.Stdout,
						len(res.Stdout), res.Stderr, c.verdict, c.exit, c.stdout)
				}
			}

			r, want := request(c.script), api.Bytes(c.stdout)
			r.Tests = []api.Test{{ID: "1", Expected: &want}, {ID: "2", Expected: &want}}
			for _, test := range a.run(t, r).Tests {
				if test.Result.Verdict != c.verdict || c.verdict == api.OK && test.Answer != api.Accepted {
					t.Errorf("test %s: %s, %s; want %s", test.ID, test.Result.Verdict, test.Answer, c.verdict)
				}
			}
		})
	}

	t.Run("execs", func(t *testing.T) {
		s := a.session(t, func(s *api.SessionRequest) { s.Image = "bash" })
		for _, c := range cases[:8] {
			res := a.execute(t, s.ID, api.Exec{Argv: []string{"bash", "-c", c.script}, Limits: api.Limits{Wall: slowly(20), CPU: seconds(3)}})
			if res.Verdict != c.verdict || string(res.Stdout) != c.stdout {
				t.Errorf("%s: %s, stdout %.100q; want %s, %.100q", c.name, res.Verdict, res.Stdout, c.verdict, c.stdout)
			}
		}
	})
}
