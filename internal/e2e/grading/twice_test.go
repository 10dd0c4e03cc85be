package grading

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The encoder and decoder of these tests: in the first run the program gets a number and prints it doubled, in
// the second one it gets that without seeing the first, and must print the number.
const encodes = `read what n; [ $what = first ] && { echo $((n*2)); touch /tmp/seen; exit; }; [ -e /tmp/seen ] && exit 9; echo $((n/2))`

// A program that runs twice has the input of its second run from whatever judges the first one: the checker's
// stdout, or what the interactor wrote. The second run shares nothing with the first (Polygon, run-count).
func TestProgramsRunTwice(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")

	// The checker's input and output are those of the run that it judges, and its answer is the test's.
	judges := checker(api.ProtocolTestlib, `read what n <$1; read out <$2; read ans <$3
		if [ $what = first ]; then [ "$out" = $((n*2)) ] || { echo "wrong answer code" >&2; exit 1; }; echo "second $out"; echo "ok first" >&2; exit 0; fi
		[ "$out" = "$ans" ] && { echo "ok $n $out" >&2; exit 0; }; echo "wrong answer $out" >&2; exit 1`)
	last := checker(api.ProtocolTestlib,
		`read what n <$1; read out <$2; read ans <$3; [ "$out" = "$ans" ] && { echo "ok $what $n $out" >&2; exit 0; }; echo "wrong answer $out" >&2; exit 1`)
	once := interactor(api.ProtocolTestlib,
		`cat $1; read out; echo "second $out" >$2; [ "$out" -gt 100 ] && { echo "wrong answer too large" >&2; exit 1; }; exit 0`)
	once.Passes = 1
	both := interactor(api.ProtocolTestlib,
		`cat $1; read out; read what n <$1; [ $what = first ] && echo "second $out" >$2 || echo "$out" >$2; exit 0`)
	for _, tt := range []struct {
		name  string
		check *api.Check
		talks *api.Interactor
		right string // what the checker says of the last run
	}{
		{"a checker", judges, nil, "ok 14 7"},
		{"an interactor in the first run", last, once, "ok second 14 7"},
		{"an interactor in both", last, both, "ok second 14 7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tests := []api.Test{{ID: "right", Stdin: api.Bytes("first 7\n"), Expected: harness.Expected("7\n")},
				{ID: "wrong", Stdin: api.Bytes("first 8\n"), Expected: harness.Expected("7\n")}}
			r := harness.Sh(encodes)
			r.Passes, r.Check, r.Interactor, r.Tests = 2, tt.check, tt.talks, tests
			res := a.MustRun(t, r)
			for i, want := range []string{"ok accepted 2 " + tt.right, "ok wrong-answer 2 wrong answer 8"} {
				one := res.Tests[i]
				if got := fmt.Sprintf("%s %s %d %s", one.Result.Verdict, one.Answer, one.Passes, one.Message); got != want {
					t.Errorf("%s; want %s", got, want)
				}
			}

			// The verdict of a second run that fails is that of the test, and its checker has nothing to say.
			r = harness.Sh(`read what n; [ $what = first ] && { echo $((n*2)); exit; }; exit 3`)
			r.Passes, r.Check, r.Interactor, r.Tests = 2, tt.check, tt.talks, tests[:1]
			if one := a.MustRun(t,
				r).Tests[0]; one.Result.Verdict != api.Nonzero || one.Result.ExitCode != 3 || one.Answer != "" || one.Passes != 2 {
				t.Errorf("%s, exit code %d, %q, %d passes", one.Result.Verdict, one.Result.ExitCode, one.Answer, one.Passes)
			}
		})
	}

	// What is wrong after the first run has no second one.
	for name, r := range map[string]api.Run{"the checker": harness.Sh(`echo 9`), "the interactor": harness.Sh(`echo 900`)} {
		r.Passes, r.Check, r.Tests = 2, judges, []api.Test{{ID: "1", Stdin: api.Bytes("first 7\n"), Expected: harness.Expected("7\n")}}
		if name == "the interactor" {
			r.Check, r.Interactor = last, once
		}
		if one := a.MustRun(t, r).Tests[0]; one.Answer != api.WrongAnswer || one.Passes != 1 || !strings.HasPrefix(one.Message, "wrong answer ") {
			t.Errorf("%s: %s, %d passes, %q", name, one.Answer, one.Passes, one.Message)
		}
	}

	// The input of the second run is whole, or an error: 100 KiB are more than other checkers say on stdout.
	r := harness.Sh(`read what n; [ $what = first ] && exit; wc -c`)
	r.Check = checker(api.ProtocolTestlib,
		`read what n <$1; [ $what = first ] && { echo second; head -c 100000 /dev/zero; exit 0; }; read n <$2; echo "ok $n" >&2; exit 0`)
	r.Passes, r.Tests = 2, []api.Test{{ID: "1", Stdin: api.Bytes("first\n")}}
	if one := a.MustRun(t, r).Tests[0]; one.Message != "ok 100000" {
		t.Errorf("%q", one.Message)
	}

	r.Check = checker(api.ProtocolTestlib, `head -c 9000000 /dev/zero; exit 0`)
	a.Refused(t, r, api.CodeCheckFailed)
	r.Check.Limits.Output = 16 * api.MiB
	if e := a.Refused(t, r, api.CodeCheckFailed); !strings.Contains(e.Message,
		"its stdout is the input of the second run, and has more than 8M") {
		t.Errorf("%s", e.Message)
	}
}
