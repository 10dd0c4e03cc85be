package limits

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// left is a script that leaves processes, what arrives of its output, and how the run ends.
type left struct {
	name, script, stdout string
	verdict              api.Verdict
	exit                 int
}

// TestOutputOfLeftProcesses has programs whose main process ends before others that write to its output. What
// arrives and how the run ends is always the same.
func TestOutputOfLeftProcesses(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	harness.Images.Load(t, a, "bash")
	cases := []left{
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

	request := func(c left) api.Run {
		r := api.Run{Language: "bash", Source: api.Bytes(c.script), Limits: api.Limits{Wall: harness.Slowly(100), CPU: harness.Seconds(3)}}
		if c.verdict == api.CPULimit { // each of its runs computes for as long
			r.Limits.CPU = harness.Slowly(0.5)
		}
		return r
	}

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for range harness.Soak(5) {
				res := a.MustRun(t, request(c))
				if res.Verdict != c.verdict || res.ExitCode != c.exit || string(res.Stdout) != c.stdout {
					t.Fatalf("run: %s, exit code %d, stdout %.100q (%d bytes), stderr %q; want %s, %d, %.100q", res.Verdict, res.ExitCode, res.Stdout,
						len(res.Stdout), res.Stderr, c.verdict, c.exit, c.stdout)
				}
			}

			r, want := request(c), api.Bytes(c.stdout)
			r.Tests = []api.Test{{ID: "1", Expected: &want}, {ID: "2", Expected: &want}}
			for _, test := range a.MustRun(t, r).Tests {
				if test.Result.Verdict != c.verdict || c.verdict == api.OK && test.Answer != api.Accepted {
					t.Errorf("test %s: %s, %s; want %s", test.ID, test.Result.Verdict, test.Answer, c.verdict)
				}
			}
		})
	}

	t.Run("execs", func(t *testing.T) {
		s := a.NewSession(t, func(s *api.SessionRequest) { s.Image = "bash" })
		for _, c := range cases[:8] {
			res := a.MustExec(t, s.ID, api.Exec{Argv: []string{"bash", "-c", c.script},
				Limits: api.Limits{Wall: harness.Slowly(20), CPU: harness.Seconds(3)}})
			if res.Verdict != c.verdict || string(res.Stdout) != c.stdout {
				t.Errorf("%s: %s, stdout %.100q; want %s, %.100q", c.name, res.Verdict, res.Stdout, c.verdict, c.stdout)
			}
		}
	})

	// With a fiftieth of a processor each script takes as long as on a machine with 50 busy programs for each processor.
	t.Run("starved execs", func(t *testing.T) {
		s := a.NewSession(t, func(s *api.SessionRequest) { s.Image, s.Limits.CPUs = "bash", 0.02 })
		exec := func(script string, wall api.Duration) api.Result {
			return a.MustExec(t, s.ID, api.Exec{Argv: []string{"bash", "-c", script}, Limits: api.Limits{Wall: wall, CPU: harness.Seconds(30)}})
		}

		res := exec(strings.Replace(cases[3].script, "20000", "40000", 1), harness.Seconds(600))
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != "now\nlate\n" || res.Timing.Wall < int64(time.Second) {
			t.Errorf("after %d ns: stdout %q; want both lines, after more than 1 s", res.Timing.Wall, res.Stdout)
		}

		// The wall limit is that of the main process, and those that it left are not ended by it.
		res = exec("(while [ ! -e stop ]; do :; done; : >stopped) & echo now", harness.Slowly(10))
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != "now\n" {
			t.Errorf("stdout %q; want the line of the main process", res.Stdout)
		}

		res = exec(": >stop; until [ -e stopped ]; do :; done; echo done", harness.Seconds(600))
		if res.Verdict != api.OK || string(res.Stdout) != "done\n" {
			t.Errorf("%s, stdout %q", res.Verdict, res.Stdout)
		}
	})
}
