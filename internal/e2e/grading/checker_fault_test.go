package grading

import (
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// outputOf is where a checker of each protocol finds the output, and how it accepts one, in a shell.
var outputOf = map[api.Protocol]struct{ output, accept string }{
	api.ProtocolKattis:   {"/dev/stdin", "exit 42"},
	api.ProtocolTestlib:  {"$2", "exit 0"},
	api.ProtocolCMS:      {"$3", "echo 1; exit"},
	api.ProtocolDMOJ:     {"$2", "exit 0"},
	api.ProtocolCOCI:     {"$2", "exit 0"},
	api.ProtocolEjudge:   {"$2", "exit 0"},
	api.ProtocolSYZOJ:    {"user_out", "echo 100; exit"},
	api.ProtocolLemon:    {"$2", "echo 100 >$5; exit"},
	api.ProtocolPEG:      {"$2", "exit 0"},
	api.ProtocolScaleBox: {"answer.txt", "exit 0"},
	api.ProtocolExit:     {"/dev/stdin", "exit 0"},
}

// GRD-30: a program cannot turn its verdict into an error with an output on which the checker fails. The same
// failure on the expected output, or none to try, is an error as before.
func TestHostileOutputsFailNoChecker(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	wall := 30 * api.Duration(time.Second)
	judged := func(c *api.Check, output string) (api.Result, error) {
		r := harness.Sh("echo " + output)
		cpu := harness.Slowly(0.3)
		if wall < 30*api.Duration(time.Second) {
			cpu = 30 * api.Duration(time.Second)
		}
		c.Limits = api.Limits{CPU: cpu, Wall: wall, Memory: 32 * api.MiB,
			Output: api.MiB, Scratch: 32 * api.MiB}
		r.Check, r.Tests = c, []api.Test{{ID: "one", Expected: harness.Expected("good\n")}, {ID: "two", Expected: harness.Expected("good\n")}}
		return a.Client.Run(t.Context(), r)
	}

	failures := map[string]string{"a signal": "kill -11 $$"}
	for protocol, of := range outputOf {
		if protocol == api.ProtocolKattis {
			failures = map[string]string{
				"a signal": "kill -11 $$", "an exit code": "exit 1", "its processor time": "while :; do :; done",
				"its wall limit, while it computes": "while :; do :; done",
				"its memory": "head -c 100000000 /dev/zero | tail -c 90000000 >/dev/null; " +
					"exit 42", "its output": "head -c 2000000 /dev/zero; exit 42",
				"a score that is no number": "echo nan >$3/score.txt; exit 42",
				"a file that is too large":  "head -c 9000000 /dev/zero >$3/judgemessage.txt; exit 43",
				"another pass":              "echo 1 >$3/nextpass.in; exit 42",
			}
		}

		for name, fails := range failures {
			t.Run(string(protocol)+": "+name, func(t *testing.T) {
				c := checker(protocol, "read got <"+of.output+`; case $got in good) `+of.accept+`;; esac; `+fails)
				wall = 30 * api.Duration(time.Second)
				if strings.Contains(name, "its wall limit") { // the ceilings of wall and of processor time may be the same
					wall = api.Duration(6 * time.Second)
				}
				res, err := judged(c, "bad")
				if err != nil {
					t.Fatal(err)
				}

				for _, one := range res.Tests {
					if one.Answer != api.WrongAnswer || !one.CheckerFailed || one.Result.Verdict != api.OK || one.Checker == nil ||
						!strings.Contains(one.Difference, "the checker failed on this output") {
						t.Errorf("%s, failed %v, verdict %s: %q", one.Answer, one.CheckerFailed, one.Result.Verdict, one.Difference)
					}
				}

				if s := res.Summary; s.CheckerFailed != 2 || s.Answer != api.WrongAnswer {
					t.Errorf("summary %+v", s)
				}
				if res, err = judged(c, "good"); err != nil || res.Summary.Accepted != 2 || res.Summary.CheckerFailed != 0 {
					t.Errorf("control: %+v, %v", res.Summary, err)
				}
			})
		}

		failures = map[string]string{"a signal": "kill -11 $$"}
	}

	for name, script := range map[string]string{
		"it fails on everything":            "kill -11 $$",
		"it fails on the expected output":   "read got; [ $got = good ] && kill -11 $$; exit 1",
		"it rejects the expected output":    "read got; [ $got = good ] && exit 43; exit 1",
		"it gives more points than allowed": "read got; [ $got = good ] || echo 2 >$3/score_multiplier.txt; exit 42",
	} {
		if _, err := judged(checker(api.ProtocolKattis, script), "bad"); !api.HasCode(err, api.CodeCheckFailed) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := judged(checker(api.ProtocolTestlib, "read got <$2; [ $got = good ] || exit 3"),
		"bad"); !api.HasCode(err, api.CodeCheckFailed) {
		t.Errorf("_fail: %v", err)
	}

	r := harness.Sh("echo bad")
	r.Check, r.Tests = checker(api.ProtocolExit, "kill -11 $$"), []api.Test{{ID: "one"}}
	a.Refused(t, r, api.CodeCheckFailed)
}

// GRD-30, for a function in Python: the red team's integers, which all have one hash, and an exception.
func TestHostileOutputsFailNoPythonChecker(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	check := &api.Check{Protocol: api.ProtocolPython, Program: api.Program{Source: api.Bytes(`
def check(input, output, answer):
    got = set(map(int, output.split()))
    return got == set(map(int, answer.split()))
`)}}

	check.Limits = api.Limits{CPU: harness.Slowly(1), Wall: 30 * api.Duration(time.Second)}

	for name, script := range map[string]string{
		"integers with one hash": "import sys\nsys.stdout.write(' '.join(str(((1 << 61) - 1) * i) for i in range(1, 40001)))",
		"an exception":           "print('no number')",
		"too many digits":        "print('1' * 5000)",
	} {
		r := api.Run{Language: "python", Source: api.Bytes(script), Check: check, Tests: []api.Test{{ID: "1",
			Expected: harness.Expected("0 1 2")}}}
		r.Limits = api.Limits{CPU: harness.Slowly(10), Wall: 30 * api.Duration(time.Second)}
		one := a.MustRun(t, r).Tests[0]
		if one.Answer != api.WrongAnswer || !one.CheckerFailed {
			t.Errorf("%s: %s %s, failed %v, checker %+v", name, one.Result.Verdict, one.Answer, one.CheckerFailed, one.Checker)
		}
	}
}
