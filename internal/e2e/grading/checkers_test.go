package grading

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// checker is a checker in the tiny image: a shell script whose arguments are those of the protocol.
func checker(protocol api.Protocol, script string, args ...string) *api.Check {
	return &api.Check{Program: api.Program{Image: "tiny", Argv: []string{"/bin/sh", "-c", script, "checker"}}, Protocol: protocol, Args: args}
}

// One checker of each protocol accepts a number that is the square of the input, gives half of the points
// for its negative where the protocol has such, and calls everything else wrong.
func TestCheckers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	const find = `n=$(cat "$in"); read -r got <"$out"; right=$((n*n)); half=no; all=no
		[ "$got" = "$right" ] && all=yes; [ "$got" = "-$right" ] && half=yes; read -r ans <"$ans" && [ "$ans" = "answer of $n" ] || exit 99
		`

	type words struct{ right, wrong, half string }
	for _, tt := range []struct {
		check *api.Check
		want  words
	}{
		{checker(api.ProtocolKattis, `in=$1 ans=$2 out=/tmp/out; cat >/tmp/out; [ "$4 $5" = "flag own" ] || exit 98
			case $3 in */) ;; *) exit 97 ;; esac; `+find+`echo "for $n" >$3/teammessage.txt
			[ $all = yes ] && exit 42; [ $half = yes ] && { echo 0.5 >$3/score_multiplier.txt; exit 42; }; echo no >$3/judgemessage.txt; exit 43`, "flag"),
			words{"accepted -1", "wrong-answer -1 no", "partial 0.5"}},
		{checker(api.ProtocolTestlib, `[ "$1 $2" = "flag own" ] || exit 98; in=$3 out=$4 ans=$5; [ $# = 5 ] || exit 96; `+find+`
			[ $all = yes ] && { echo "ok $got" >&2; exit 0; }; [ $half = yes ] && { echo "points 0.5 half" >&2; exit 7; }; echo "wrong answer $got" >&2; exit 1`, "flag"),
			words{"accepted -1 ok 9", "wrong-answer -1 wrong answer 8", "partial 0.5 points 0.5 half"}},
		{checker(api.ProtocolCMS,
			`in=$1 ans=$2 out=$3; `+find+
				`[ $all = yes ] && { echo 1.0; echo translate:success >&2; exit; }; [ $half = yes ] && { echo 0.5; exit; }; echo 0`),
			words{"accepted 1 Output is correct", "wrong-answer 0", "partial 0.5"}},
		{checker(api.ProtocolDMOJ, `in=$1 out=$2 ans=$3; `+find+`echo "got $got"; [ $all = yes ]`),
			words{"accepted -1 got 9", "wrong-answer -1 got 8", "wrong-answer -1 got -9"}},
		{checker(api.ProtocolCOCI,
			`in=$1 out=$2 ans=$3; `+find+`[ $all = yes ] && exit 0; [ $half = yes ] && { echo "partial 5/10" >&2; exit 7; }; exit 1`),
			words{"accepted -1", "wrong-answer -1", "partial 0.5 partial 5/10"}},
		{checker(api.ProtocolEjudge, `in=$1 out=$2 ans=$3; `+find+`echo "got $got" >&2; [ $all = yes ] && exit 0; [ $half = yes ] && exit 4; exit 5`),
			words{"accepted -1 got 9", "wrong-answer -1 got 8", "wrong-answer -1 got -9"}},
		{checker(api.ProtocolSYZOJ,
			`in=input out=user_out ans=answer; `+find+`[ $all = yes ] && echo 100 || { [ $half = yes ] && echo 50 || echo 0; }`),
			words{"accepted 1", "wrong-answer 0", "partial 0.5"}},
		{checker(api.ProtocolLemon,
			`in=$1 out=$2 ans=$3; `+find+`[ $all = yes ] && echo $4 >$5 || { [ $half = yes ] && echo $(($4/2)) >$5 || echo 0 >$5; }; echo m >$6`),
			words{"accepted 1 m", "wrong-answer 0 m", "partial 0.5 m"}},
		{checker(api.ProtocolPEG, `ans=$1 out=$2 in=$3; `+find+`[ $all = yes ] && exit 0; [ $half = yes ] && { echo 5; echo 10; }; exit 1`),
			words{"accepted -1", "wrong-answer -1", "partial 0.5 5\n10"}},
		{checker(api.ProtocolScaleBox, `in=stdin.txt out=answer.txt ans=stdout.txt; `+find+`echo "got $got"; [ $all = yes ] || exit 9`),
			words{"accepted -1 got 9", "wrong-answer -1 got 8", "wrong-answer -1 got -9"}},
		{checker(api.ProtocolExit, `in=$1 out=$2 ans=${3#--answer=}; cmp -s - $out || exit 95; `+find+`[ $all = yes ]`, "{input}",
			"{output}", "--answer={answer}"),
			words{"accepted -1", "wrong-answer -1", "wrong-answer -1"}},
	} {
		t.Run(string(tt.check.Protocol), func(t *testing.T) {
			r := harness.Sh(`read n; case $1 in right) echo $((n*n));; wrong) echo 8;; half) echo -$((n*n));; fail) exit 3;; esac`)
			r.Argv = append(r.Argv, "sh")
			r.Check = tt.check
			own := []string{"own"}
			if tt.check.Args == nil || tt.check.Protocol == api.ProtocolExit {
				own = nil
			}

			for _, id := range []string{"right", "wrong", "half", "fail"} {
				r.Tests = append(r.Tests,
					api.Test{ID: id, Args: []string{id}, Stdin: []byte("3\n"), Expected: harness.Expected("answer of 3\n"), CheckArgs: own})
			}

			res := a.MustRun(t, r)
			want := []string{tt.want.right, tt.want.wrong, tt.want.half, " -1"}
			for i, one := range res.Tests {
				if got := strings.TrimRight(fmt.Sprintf("%s %v %s", one.Answer, score(one), one.Message), " "); got != strings.TrimRight(want[i], " ") {
					t.Errorf("%s: %q; want %q", one.ID, got, want[i])
				}
				if (one.Checker != nil) != (one.Result.Verdict == api.OK) ||
					one.Checker != nil && (one.Checker.Usage.CPU.Value == nil || one.Checker.Timing.Wall == 0) {
					t.Errorf("%s: verdict %s, checker %+v", one.ID, one.Result.Verdict, one.Checker)
				}
			}

			if s := res.Summary; s.Accepted != 1 || s.Answer != api.WrongAnswer || s.Verdict != api.Nonzero {
				t.Errorf("summary %+v", s)
			}
		})
	}
}

func score(t api.TestResult) float64 {
	if t.Score == nil {
		return -1
	}
	return *t.Score
}

// A Python checker is a function of three texts. What it prints is not its word.
func TestPythonChecker(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	r := harness.Sh(`cat`)
	r.Check = &api.Check{Protocol: api.ProtocolPython, Program: api.Program{Source: api.Bytes(`
def check(input, output, answer):
    print("1.0")
    if output == b"crash": raise ValueError(output)
    if output == b"part": return 0.25, "a quarter"
    if output == b"odd": return "yes"
    return output == answer
`)}}

	for _, id := range []string{"same", "part", "other"} {
		r.Tests = append(r.Tests, api.Test{ID: id, Stdin: []byte(id), Expected: harness.Expected("same")})
	}

	res := a.MustRun(t, r)
	for i, want := range []string{"accepted 1 ", "partial 0.25 a quarter", "wrong-answer 0 "} {
		one := res.Tests[i]
		if got := fmt.Sprintf("%s %v %s", one.Answer, score(one), one.Message); got != want {
			t.Errorf("%s: %q; want %q", one.ID, got, want)
		}
	}

	for _, id := range []string{"crash", "odd"} {
		r.Tests = []api.Test{{ID: id, Stdin: []byte(id)}}
		a.Refused(t, r, api.CodeCheckFailed)
	}
}

// GRD-03: a checker that does not keep to its protocol is an error of the run, never an answer, whatever the
// program printed.
func TestBrokenCheckersAreNoVerdict(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	for name, c := range map[string]*api.Check{
		"kattis: exit code 0":  checker(api.ProtocolKattis, "exit 0"),
		"kattis: exit code 1":  checker(api.ProtocolKattis, "exit 1"),
		"kattis: a signal":     checker(api.ProtocolKattis, "kill -11 $$"),
		"kattis: no time left": checker(api.ProtocolKattis, "while :; do :; done"),
		"kattis: no memory left": checker(api.ProtocolKattis, "head -c 100000000 /dev/zero | tail -c "+
			"90000000 >/dev/null; exit 42"),
		"kattis: too much output":           checker(api.ProtocolKattis, "head -c 2000000 /dev/zero; exit 42"),
		"kattis: a score that is no number": checker(api.ProtocolKattis, "echo many >$3/score.txt; exit 42"),
		"kattis: two scores":                checker(api.ProtocolKattis, "echo 1 >$3/score.txt; echo 1 >$3/score_multiplier.txt; exit 42"),
		"kattis: a link for a score":        checker(api.ProtocolKattis, "ln -s /etc/passwd $3/score.txt; exit 42"),
		"kattis: a pipe for a score":        checker(api.ProtocolKattis, "mkfifo $3/score.txt; exit 42"),
		"kattis: too large a message":       checker(api.ProtocolKattis, "head -c 9000000 /dev/zero >$3/judgemessage.txt; exit 42"),
		"kattis: another pass":              checker(api.ProtocolKattis, "echo 1 >$3/nextpass.in; exit 42"),
		"testlib: _fail":                    checker(api.ProtocolTestlib, "echo FAIL >&2; exit 3"),
		"testlib: exit code 42":             checker(api.ProtocolTestlib, "exit 42"),
		"testlib: points without a number":  checker(api.ProtocolTestlib, "echo points >&2; exit 7"),
		"testlib: _pc with another code":    checker(api.ProtocolTestlib, "echo 'partially correct (100) x' >&2; exit 0"),
		"cms: no outcome":                   checker(api.ProtocolCMS, "true"),
		"cms: an outcome of 2":              checker(api.ProtocolCMS, "echo 2"),
		"exit: exit code 2":                 checker(api.ProtocolExit, "exit 2"),
		"dmoj: exit code 5":                 checker(api.ProtocolDMOJ, "exit 5"),
		"a program that is not there":       {Program: api.Program{Image: "tiny", Argv: []string{"/no/such"}}, Protocol: api.ProtocolExit},
	} {
		t.Run(name, func(t *testing.T) {
			r := harness.Sh("echo 42; echo ok >&2")
			c.Limits = api.Limits{CPU: harness.Slowly(0.3), Memory: 32 * api.MiB, Output: api.MiB, Scratch: 32 * api.MiB}
			r.Check, r.Tests = c, []api.Test{{ID: "one", Stdin: []byte("x")}}
			_, err := a.Client.Run(t.Context(), r)
			want := api.CodeCheckFailed
			if c.Argv[0] == "/no/such" {
				want = api.CodeNoProgram
			}
			if !api.HasCode(err, want) || want == api.CodeCheckFailed && !strings.Contains(err.Error(), `test "one"`) ||
				!strings.Contains(err.Error(), "checker") {
				t.Errorf("%v; want %s", err, want)
			}
		})
	}
}

// A multi-pass problem: the checker makes the input of the next pass and keeps files in its feedback
// directory; the slowest pass is reported.
func TestPasses(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	r := harness.Sh(`read n; [ $n = 3 ] && [ "$1" = fail ] && exit 5; echo $((n+1))`)
	r.Argv = append(r.Argv, "sh")
	r.Check = checker(api.ProtocolKattis,
		`read got; n=$(cat $1); echo "$n->$got" >>$3/judgemessage.txt; [ $got = $((n+1)) ] || exit 43; [ -e $3/nextpass.in ] && exit 9
		[ $got -lt 4 ] && echo $got >$3/nextpass.in; exit 42`)
	r.Passes = 3
	r.Tests = []api.Test{{ID: "three", Stdin: []byte("1\n")}, {ID: "one", Stdin: []byte("7\n")},
		{ID: "fail", Stdin: []byte("2\n"), Args: []string{"fail"}}}
	res := a.MustRun(t, r)
	for i, want := range []string{"ok accepted 3 1->2\n2->3\n3->4", "ok accepted 1 7->8", "nonzero  2 2->3"} {
		one := res.Tests[i]
		if got := fmt.Sprintf("%s %s %d %s", one.Result.Verdict, one.Answer, one.Passes, one.Message); got != want {
			t.Errorf("%s: %q; want %q", one.ID, got, want)
		}
	}

	r.Passes = 2
	r.Tests = r.Tests[:1]
	a.Refused(t, r, api.CodeCheckFailed)
}

// GRD-09: which tests count, and the score, follow from the order of the request: they are the same with one slot
// and with two, however long each test takes.
func TestGroupsOnOneSlotAndOnTwo(t *testing.T) {
	r := harness.Sh(`case $1 in slow) sleep 0.3;; esac; cat`)
	r.Argv = append(r.Argv, "sh")
	test := func(id, answer string, args ...string) api.Test {
		return api.Test{ID: id, Stdin: []byte("1"), Expected: harness.Expected(answer), Args: args}
	}
	r.Tests = []api.Test{
		test("sample/1", "1"), test("one/1", "1", "slow"), test("one/2", "2", "slow"), test("one/3", "1"), test("one/4", "1"),
		test("two/1", "1"), test("two/2", "1"), test("three/1", "1"), test("three/2", "1"),
	}
	r.Groups = []api.ScoreGroup{
		{ID: "sample", Tests: []string{"sample/"}},
		{ID: "one", Tests: []string{"one/"}, Points: 40, Stop: true, Requires: []string{"sample"}},
		{ID: "two", Tests: []string{"two/"}, Points: 10, How: api.AggregateMin, Requires: []string{"one"}},
		{ID: "three", Tests: []string{"three/"}, Points: 50, How: api.AggregatePassFail, Requires: []string{"sample"}},
	}

	for _, slots := range []string{"1", "2"} {
		t.Run(slots, func(t *testing.T) {
			a := harness.StartAgent(t, "--slots", slots)
			var told []string
			res, err := a.RunEvents(t.Context(), r, nil, client.Events{Test: func(one api.TestResult) { told = append(told, one.ID) }})
			if err != nil {
				t.Fatal(err)
			}

			var ids []string
			for _, one := range res.Tests {
				ids = append(ids, one.ID)
			}

			const want = "sample/1 one/1 one/2 three/1 three/2"
			slices.Sort(told)
			sorted := strings.Fields(want)
			slices.Sort(sorted)
			if got := strings.Join(ids, " "); got != want || !slices.Equal(told, sorted) {
				t.Errorf("tests %s, told %s; want %s", got, told, want)
			}

			s := res.Summary
			if s.Tests != 9 || s.Ran != 5 || s.Skipped != 4 || s.Score == nil || *s.Score != 0.6 || *s.Points != 60 || *s.MaxPoints != 100 ||
				s.FirstFailed != "one/2" {
				t.Errorf("summary %+v", s)
			}

			got := ""
			for _, g := range s.Groups {
				got += fmt.Sprintf("%s %v %v %v, ", g.ID, g.Accepted, g.Points, g.Skipped)
			}

			if got != "sample true 0 false, one false 10 false, two false 0 true, three true 50 false, " {
				t.Errorf("groups %s", got)
			}
		})
	}
}
