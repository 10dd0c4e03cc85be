package grading

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func interactor(protocol api.Protocol, script string, args ...string) *api.Interactor {
	return &api.Interactor{Program: api.Program{Image: "tiny", Argv: []string{"/bin/sh", "-c", script, "interactor"}},
		Protocol: protocol, Args: args}
}

// guess is an interactor that has a number guessed: it answers low, high or yes.
const guess = `n=$(cat $1); for i in 1 2 3 4 5 6 7 8; do read g || exit 43
	[ "$g" = "$n" ] && { echo yes; echo "in $i" >$3/judgemessage.txt; exit 42; }; [ "$g" -lt "$n" ] && echo low || echo high; done; echo no; exit 43`

// An interactor and a program talk while both run; the input is the interactor's alone. Each case is one of the
// orders in which the two can end.
func TestInteractors(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	bisect := `lo=1 hi=100; while :; do g=$(((lo+hi)/2)); echo $g; read a || exit 9; case $a in yes) exit 0;; low) lo=$((g+1));; high) hi=$((g-1));; *) exit 0;; esac; done`
	for _, tt := range []struct{ name, interactor, program, want string }{
		{"right", guess, bisect, "ok accepted in"},
		{"wrong", guess, `while :; do echo 1; read a || exit 0; [ $a = no ] && exit 0; done`, "ok wrong-answer"},
		{"the interactor ends first and finds it wrong: what the program does then does not count",
			"read g; exit 43", `echo 1; sleep 30; exit 3`, "ok wrong-answer"},
		{"nor does that it crashes", "read g; exit 43", `echo 1; read a; kill -11 $$`, "ok wrong-answer"},
		{"the program ends first, badly", guess, `echo 1; exit 3`, "nonzero "},
		{"the program ends first, with a signal", guess, `kill -11 $$`, "signaled "},
		{"the program says nothing and ends", guess, `exit 0`, "ok wrong-answer"},
		{"it closes its stdout and stays", "read g || exit 43; exit 42", `exec >&-; sleep 0.2; exit 0`, "ok wrong-answer"},
		{"it writes after the interactor accepted", "read g; exit 42", `echo 1; sleep 0.2; head -c 3000000 /dev/zero || exit 4`, "ok accepted"},
		{"it fails after the interactor accepted", "read g; exit 42", `echo 1; sleep 0.2; exit 5`, "nonzero "},
		{"it reads nothing", `head -c 3000000 /dev/zero; read g; exit 42`, `echo 1; sleep 30`, "wall-limit "},
		{"it ends before it has read all", `head -c 3000000 /dev/zero; read g; [ "$g" = 1 ] && exit 42; exit 43`,
			`echo 1; exit 0`, "ok accepted"},
		{"it floods the interactor", `sleep 0.2; exit 43`, `while :; do echo 11111111111111111111111111111; done`, "ok wrong-answer"},
		{"both wait", `read g; exit 42`, `read a; exit 0`, "wall-limit "},
		{"it computes for ever", `read g; exit 42`, `while :; do :; done`, "cpu-limit "},
		{"it leaves a process that holds its stdout", `while read g; do :; done; exit 43`, `sleep 100 & echo 1; exit 0`, "ok wrong-answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Sh(tt.program)
			r.Interactor = interactor(api.ProtocolKattis, tt.interactor)
			r.Limits = api.Limits{Wall: wallFor(tt.want), CPU: harness.Slowly(0.5)}
			r.Tests = []api.Test{{ID: "1", Stdin: []byte("63\n")}}
			begun := time.Now()
			one := a.MustRun(t, r).Tests[0]
			if got := fmt.Sprintf("%s %s %s", one.Result.Verdict, one.Answer, one.Message); !strings.HasPrefix(got, tt.want) ||
				tt.want[len(tt.want)-1] == ' ' && one.Answer != "" {
				t.Errorf("%q; want %q (first %s, interactor %+v, program exit %d signal %d)", got, tt.want, one.First, one.Interactor,
					one.Result.ExitCode, one.Result.Signal)
			}
			if one.Interactor == nil || one.First == "" {
				t.Errorf("interactor %+v, first %q", one.Interactor, one.First)
			}
			if took := time.Since(begun); took > harness.Slow(40*time.Second) {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A caller that is sent the usage has the supervisor wake up every half second. It takes nothing of what the
// program wrote and the interactor has not read yet: both would wait for ever.
func TestWakesTakeNothingFromInteractors(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Sh(`for i in 1 2 3 4; do echo $i; read a || exit 9; done`)
	r.Interactor = interactor(api.ProtocolKattis,
		`for i in 1 2 3 4; do sleep 0.6; read g || exit 43; [ "$g" = $i ] || exit 43; echo ok; done; exit 42`)
	r.Limits = api.Limits{Wall: harness.Slowly(30)}
	r.Tests = []api.Test{{ID: "1"}}
	samples := 0
	res, err := a.RunEvents(t.Context(), r, strings.NewReader(""), client.Events{Usage: func(api.LiveUsage) { samples++ }})
	if err != nil {
		t.Fatal(err)
	}
	if one := res.Tests[0]; one.Result.Verdict != api.OK || one.Answer != api.Accepted {
		t.Errorf("%s, %s (first %s)", one.Result.Verdict, one.Answer, one.First)
	}
	if samples == 0 {
		t.Error("there was no sample of the usage")
	}
}

// GRD-07: an interactor that does not keep to its protocol is an error, whatever the program did, unless the
// program met a limit and left it no time.
func TestBrokenInteractorsAreNoVerdict(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	for name, i := range map[string]*api.Interactor{
		"exit code 0":         interactor(api.ProtocolKattis, "read g; exit 0"),
		"a signal":            interactor(api.ProtocolKattis, "read g; kill -11 $$"),
		"at once":             interactor(api.ProtocolKattis, "exit 1"),
		"no time left":        interactor(api.ProtocolKattis, "while :; do :; done"),
		"testlib: _fail":      interactor(api.ProtocolTestlib, "read g; exit 3"),
		"another pass":        interactor(api.ProtocolKattis, "echo 1 >$3/nextpass.in; exit 42"),
		"a link for a score":  interactor(api.ProtocolKattis, "ln -s /etc/passwd $3/score.txt; exit 42"),
		"testlib: exit of 42": interactor(api.ProtocolTestlib, "exit 42"),
		"dmoj: exit code 3":   interactor(api.ProtocolDMOJ, "read g; exit 3"),
		"coci: no partial":    interactor(api.ProtocolCOCI, "read g; exit 7"),
	} {
		t.Run(name, func(t *testing.T) {
			i.Limits.CPU = harness.Slowly(0.3)
			r := harness.Sh("echo 42; read a; exit 0")
			r.Interactor, r.Tests = i, []api.Test{{ID: "1"}}
			r.Limits.Wall = harness.Slowly(20)
			a.Refused(t, r, api.CodeCheckFailed)
		})
	}

	if res := a.MustRun(t, harness.Sh("echo alive")); string(res.Stdout) != "alive\n" {
		t.Errorf("%s", res.Stdout)
	}
}

// Polygon's order: the interactor writes a file, and then the checker reads it. Multi-pass works with an
// interactor, too, and two tests run side by side.
func TestInteractorThenChecker(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	r := harness.Sh(`read n; echo $((n*2))`)
	r.Interactor = interactor(api.ProtocolTestlib, `cat $1; read g; echo "$g" >$2; [ "$(cat $3)" = answer ] && exit 0; exit 1`)
	r.Check = checker(api.ProtocolTestlib, `[ "$(cat $2)" = $(( $(cat $1) * 2 )) ] && { echo "ok $(cat $2)" >&2; exit 0; }; exit 1`)
	for _, id := range []string{"1", "2", "3"} {
		r.Tests = append(r.Tests, api.Test{ID: id, Stdin: []byte(id + "\n"), Expected: harness.Expected("answer")})
	}

	r.Tests[2].Expected = harness.Expected("other")
	res := a.MustRun(t, r)
	for i, want := range []string{"accepted ok 2", "accepted ok 4", "wrong-answer "} {
		if one := res.Tests[i]; fmt.Sprintf("%s %s", one.Answer, one.Message) != want || (one.Checker != nil) != (i < 2) {
			t.Errorf("%s: %s %s; want %s", one.ID, one.Answer, one.Message, want)
		}
	}

	// Those of DMOJ get the input and the answer, and say on stderr what they found.
	r = harness.Sh(`read n; echo $((n*2))`)
	r.Interactor = interactor(api.ProtocolDMOJ, `[ $# = 2 ] || exit 9; cat $1; read g; echo "got $g" >&2; [ "$g" = "$(cat $2)" ]`)
	r.Tests = []api.Test{{ID: "1", Stdin: []byte("1\n"), Expected: harness.Expected("2")}, {ID: "2",
		Stdin: []byte("2\n"), Expected: harness.Expected("5")}}
	res = a.MustRun(t, r)
	for i, want := range []string{"accepted got 2", "wrong-answer got 4"} {
		if one := res.Tests[i]; fmt.Sprintf("%s %s", one.Answer, one.Message) != want {
			t.Errorf("%s: %s %s; want %s", one.ID, one.Answer, one.Message, want)
		}
	}

	// Points of an interactor are those of the test, if the request says so, and cannot be more.
	r.Interactor = interactor(api.ProtocolTestlib, `cat $1; read g; echo "points $g" >&2; exit 7`)
	r.Interactor.Points, r.Groups = api.PointsAbsolute, []api.ScoreGroup{{ID: "all", Tests: []string{"1", "2"}, Points: 10}}
	if s := a.MustRun(t, r).Summary; *s.Points != 6 || *s.MaxPoints != 10 {
		t.Errorf("points %v of %v; want 6 of 10", *s.Points, *s.MaxPoints)
	}

	r.Groups[0].Points = 4
	if e := a.Refused(t, r, api.CodeCheckFailed); !strings.Contains(e.Message, "the interactor gave 4 points, and the test has 2") {
		t.Errorf("%s", e.Message)
	}

	r = harness.Sh(`read n; echo $((n+1))`)
	r.Passes = 3
	r.Interactor = interactor(api.ProtocolKattis,
		`n=$(cat $1); echo $n; read g; echo "$n $g" >>$3/judgemessage.txt; [ $g = $((n+1)) ] || exit 43; [ $g -lt 4 ] && echo $g >$3/nextpass.in; exit 42`)
	r.Tests = []api.Test{{ID: "1", Stdin: []byte("2\n")}, {ID: "2", Stdin: []byte("9\n")}}
	res = a.MustRun(t, r)
	for i, want := range []string{"accepted 2 2 3\n3 4", "accepted 1 9 10"} {
		if one := res.Tests[i]; fmt.Sprintf("%s %d %s", one.Answer, one.Passes, one.Message) != want {
			t.Errorf("%s: %s %d %s; want %s", one.ID, one.Answer, one.Passes, one.Message, want)
		}
	}
}
