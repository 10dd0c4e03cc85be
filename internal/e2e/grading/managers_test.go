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

// manager is an interactor of the protocol cms: the input is its stdin, its arguments name pipes, its stdout is the
// score.
func manager(script string, processes int, io api.ProgramIO) *api.Interactor {
	i := interactor(api.ProtocolCMS, script)
	i.Processes, i.ProgramIO, i.Limits.Memory = processes, io, 32*api.MiB // several programs fit into a small machine
	return i
}

// talks is a program with a manager: its stdin and stdout are the pipes, as those of std_io are.
func talks(script string, io api.ProgramIO) api.Run {
	if io == api.FIFOIO {
		script = `exec <"$1" >"$2"; shift 2; ` + script
	}
	r := harness.Sh(script)
	r.Argv, r.Limits.Memory = append(r.Argv, "program"), 32*api.MiB
	return r
}

// hasGuessed has a number guessed, in at most 8 questions. Half of the points are for more than 6.
const hasGuessed = `n=$(cat); [ "$n" = "$(cat input.txt)" ] || exit 9; exec 3<"$1" 4>"$2"; for i in 1 2 3 4 5 6 7 8; do read g <&3 || { echo 0; echo "no question $i" >&2; exit 0; }
	[ "$g" = "$n" ] && { echo yes >&4; [ $i -gt 6 ] && echo 0.5 || echo 1.0; echo "in $i" >&2; exit 0; }; [ "$g" -lt "$n" ] && echo low >&4 || echo high >&4; done; echo no >&4; echo 0.0; echo many >&2`

// wallFor is the wall limit of a program that is to end as want says. Only programs that wait for ever meet theirs: on
// a busy machine all others may take many times as long as alone.
func wallFor(want string) api.Duration {
	if strings.HasPrefix(want, string(api.WallLimit)) {
		return harness.Slowly(2)
	}
	return harness.Slowly(30)
}

// A manager and a program talk while both run. Each case is one of the orders in which the two can end, over stdin
// and stdout and over pipes that the program opens by name.
func TestManagers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	bisect := `lo=1 hi=100; while :; do g=$(((lo+hi)/2)); echo $g; read a || exit 9; case $a in yes) exit 0;; low) lo=$((g+1));; high) hi=$((g-1));; *) exit 0;; esac; done`
	for _, tt := range []struct{ name, manager, program, want string }{
		{"right", hasGuessed, bisect, "ok accepted 1 in 6"},
		{"a part of the points", hasGuessed, `for i in 1 2 3 4 5 6; do echo 1; read a; done; echo 63; read a`, "ok partial 0.5 in 7"},
		{"wrong", hasGuessed, `while :; do echo 1; read a || exit 0; [ $a = no ] && exit 0; done`, "ok wrong-answer 0 many"},
		{"the manager ends first and finds it wrong: what the program does then does not count",
			`exec 3<$1; read g <&3; echo 0`, `echo 1; read a; sleep 0.3; exit 3`, "ok wrong-answer 0"},
		{"the manager ends, and its end is the program's end of file", `exec 3<$1 4>$2; read g <&3; echo x >&4; echo 1`,
			`echo 1; n=0; while read a; do n=$((n+1)); done; [ $n = 1 ]`, "ok accepted 1"},
		{"the program ends first, badly", hasGuessed, `echo 1; exit 3`, "nonzero  -1"},
		{"the program ends first, with a signal", hasGuessed, `kill -11 $$`, "signaled  -1"},
		{"the program says nothing and ends", hasGuessed, `exit 0`, "ok wrong-answer 0 no question 1"},
		{"it closes what it writes to and stays", hasGuessed, `exec >&-; sleep 0.2; exit 0`, "ok wrong-answer 0 no question 1"},
		{"it leaves a process that holds the pipe", hasGuessed, `sleep 100 & exit 0`, "ok wrong-answer 0 no question 1"},
		{"it writes after the manager ended", `exec 3<$1; read g <&3; echo 1`,
			`echo 1; sleep 0.2; head -c 3000000 /dev/zero || exit 4`, "ok accepted 1"},
		{"it fails after the manager ended", `exec 3<$1; read g <&3; echo 1`, `echo 1; sleep 0.2; exit 5`, "nonzero  -1"},
		{"it does not read what the manager writes", `exec 3<$1 4>$2; head -c 3000000 /dev/zero >&4 && echo 1`, `exit 0`, "ok accepted 1"},
		{"it reads nothing and stays", `exec 3<$1 4>$2; head -c 3000000 /dev/zero >&4; echo 1`, `sleep 30`, "wall-limit  -1"},
		{"the manager opens nothing", `sleep 0.2; echo 0.25; echo lazy >&2`, `echo 1; exit 0`, "ok partial 0.25 lazy"},
		{"it opens after the program has ended", `sleep 0.3; exec 3<$1; read g <&3; echo $g`, `echo 0.75; exit 0`, "ok partial 0.75"},
		{"it opens in the other order", `exec 4>$2 3<$1; echo 5 >&4; read g <&3; [ $g = 6 ] && echo 1`, `read a; echo $((a+1))`, "ok accepted 1"},
		{"the manager leaves files", `exec 3<$1; read g <&3; ln -s /etc/passwd link; head -c 12000000 /dev/zero >output.txt; echo 1`,
			`echo 1`, "ok accepted 1"},
		{"both wait", `exec 3<$1; read g <&3; echo 1`, `read a; exit 0`, "wall-limit  -1"},
		{"the program computes for ever", hasGuessed, `while :; do :; done`, "cpu-limit  -1"},
		{"it floods the manager", `sleep 0.2; echo 0`, `while :; do echo 11111111111111111111111111111; done`, "ok wrong-answer 0"},
		{"the program met a limit and the manager stays", `trap : TERM; while :; do read g <$1; done`, `while :; do :; done`, "cpu-limit  -1"},
	} {
		for _, io := range []api.ProgramIO{api.StdIO, api.FIFOIO} {
			t.Run(tt.name+" "+string(io), func(t *testing.T) {
				r := talks(tt.program, io)
				r.Interactor = manager(tt.manager, 0, io)
				r.Limits = api.Limits{Wall: wallFor(tt.want), CPU: harness.Slowly(0.5), Memory: 32 * api.MiB, Output: 8 * api.MiB}
				r.Tests = []api.Test{{ID: "1", Stdin: []byte("63\n")}}
				begun := time.Now()
				one := a.MustRun(t, r).Tests[0]
				if got := strings.TrimSpace(fmt.Sprintf("%s %s %v %s", one.Result.Verdict, one.Answer, score(one), one.Message)); got != tt.want {
					t.Errorf("%q; want %q (first %s, manager %+v, program exit %d signal %d stderr %q)", got, tt.want, one.First, one.Interactor,
						one.Result.ExitCode, one.Result.Signal, one.Result.Stderr)
				}
				if took := time.Since(begun); took > harness.Slow(40*time.Second) {
					t.Errorf("it took %s", took)
				}
			})
		}
	}
}

// GRD-07: a manager that crashes, says nothing, or hangs is an error, whatever the program did.
func TestBrokenManagersAreNoVerdict(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	for name, script := range map[string]string{
		"exit code 1":  `exec 3<$1; read g <&3; echo 1; exit 1`,
		"a signal":     `exec 3<$1; read g <&3; echo 1; kill -11 $$`,
		"no score":     `exec 3<$1; read g <&3; echo right >&2`,
		"a score of 2": `exec 3<$1; read g <&3; echo 2`,
		"a word":       `exec 3<$1; read g <&3; echo right`,
		"at once":      `exit 1`,
		"no time left": `while :; do :; done`,
		"it hangs":     `exec 3<$1; while read g <&3; do :; done; sleep 100`,
		"another pipe": `exec 3</proc/self/fd/66; echo 1`,
	} {
		t.Run(name, func(t *testing.T) {
			r := talks("echo 42; exit 0", api.StdIO)
			r.Interactor, r.Tests = manager(script, 0, ""), []api.Test{{ID: "1"}}
			r.Interactor.Limits.CPU, r.Interactor.Limits.Wall = harness.Slowly(0.3), harness.Slowly(1)
			r.Limits.Wall = harness.Slowly(20)
			if e := a.Refused(t, r, api.CodeCheckFailed); !strings.Contains(e.Message, "interactor failed") {
				t.Errorf("%s", e.Message)
			}
		})
	}

	if res := a.MustRun(t, harness.Sh("echo alive")); string(res.Stdout) != "alive\n" {
		t.Errorf("%s", res.Stdout)
	}
}

// With pipes by name the program's stdout is its own, and so is a limit on it.
func TestStdoutNextToPipes(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Sh(`echo debugging; exec 3<"$1" 4>"$2"; read a <&3; echo $((a*2)) >&4; cat`)
	r.Argv = append(r.Argv, "program")
	r.Interactor = manager(`read n; exec 3<"$1" 4>"$2"; echo $n >&4; read g <&3; [ $g = $((n*2)) ] && echo 1.0 || echo 0`, 0, api.FIFOIO)
	r.Tests = []api.Test{{ID: "1", Stdin: []byte("4\n")}}
	one := a.MustRun(t, r).Tests[0]
	if one.Answer != api.Accepted || string(one.Result.Stdout) != "debugging\n" {
		t.Errorf("%s, %q", one.Answer, one.Result.Stdout)
	}

	r.Argv[2] = `while :; do echo 11111111111111111111111111111; done`
	r.Limits = api.Limits{Output: 64 * api.KiB}
	if one := a.MustRun(t, r).Tests[0]; one.Result.Verdict != api.OutputLimit {
		t.Errorf("%s", one.Result.Verdict)
	}
}

// relay has each process add its number to what the one before it said.
const relay = `read v; while [ $# -gt 0 ]; do exec 3<"$1" 4>"$2"; shift 2; echo $v >&4; read v <&3 || { echo 0; echo "a process is gone" >&2; exit 0; }; exec 3<&- 4>&-; done; echo $v >&2; echo 1`

// A manager talks with several processes of a program, each in a cell of its own.
func TestManagersOfSeveralProcesses(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	for _, io := range []api.ProgramIO{api.StdIO, api.FIFOIO} {
		for _, n := range []int{2, 3, 7, 1, 2} {
			last := ` "$1"`
			if n == 1 {
				last = "0"
			}

			r := talks(`read v; me=`+strings.TrimSpace(last)+`; echo $((v + me + 1))`, io)
			r.Interactor = manager(relay, n, io)
			for _, id := range []string{"1", "2", "3"} {
				r.Tests = append(r.Tests, api.Test{ID: id, Stdin: []byte(id + "00\n")})
			}

			for i, one := range a.MustRun(t, r).Tests {
				if want := fmt.Sprint((i+1)*100 + n*(n+1)/2); one.Result.Verdict != api.OK || one.Answer != api.Accepted || one.Message != want {
					t.Errorf("%d processes, %s: %s %s %q; want %s (manager %+v, stderr %q)", n, io, one.Result.Verdict, one.Answer, one.Message, want,
						one.Interactor, one.Result.Stderr)
				}
			}
		}
	}

	if res := a.MustRun(t, harness.Sh("echo alive")); string(res.Stdout) != "alive\n" {
		t.Errorf("%s", res.Stdout)
	}
}

// The first process that fails decides, and the other ones end soon.
func TestFailuresOfSeveralProcesses(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	for _, tt := range []struct {
		name, program, want string
	}{
		{"one crashes", `read v; [ "$1" = 1 ] && kill -11 $$; echo 1`, "signaled"},
		{"one computes for ever", `read v; [ "$1" = 1 ] && while :; do :; done; echo 1`, "cpu-limit"},
		{"one waits for ever", `read v; [ "$1" = 2 ] && sleep 100; echo 1`, "wall-limit"},
		{"one ends badly, and then another one", `[ "$1" = 0 ] && exit 3; read v || exit 4; echo 1`, "nonzero"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := talks(tt.program, api.StdIO)
			r.Interactor = manager(relay, 3, api.StdIO)
			r.Tests = []api.Test{{ID: "1", Stdin: []byte("1\n")}}
			r.Limits = api.Limits{Wall: wallFor(tt.want), CPU: harness.Slowly(0.5), Memory: 32 * api.MiB}
			begun := time.Now()
			one := a.MustRun(t, r).Tests[0]
			if string(one.Result.Verdict) != tt.want || one.Answer != "" || tt.want == "nonzero" && one.Result.ExitCode != 3 {
				t.Errorf("%s %s, exit code %d; want %s", one.Result.Verdict, one.Answer, one.Result.ExitCode, tt.want)
			}
			if took := time.Since(begun); took > harness.Slow(40*time.Second) {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// The processor times of the processes add up: each is below the limit, and all together are above.
func TestTimesOfSeveralProcessesAddUp(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := talks(`read v; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo 1`, api.StdIO)
	r.Interactor = manager(relay, 3, api.StdIO)
	r.Tests = []api.Test{{ID: "1", Stdin: []byte("1\n")}}
	u := a.MustRun(t, r).Tests[0].Result.Usage.CPU
	if u.Value == nil || u.Source != "sum of the processes" {
		t.Fatalf("%+v", u)
	}
	for range 2 { // other processes make it longer
		if again := a.MustRun(t, r).Tests[0].Result.Usage.CPU; *again.Value < *u.Value {
			u = again
		}
	}

	r.Limits.CPU = api.Duration(*u.Value * 6 / 10) // each takes a third
	one := a.MustRun(t, r).Tests[0]
	if one.Result.Verdict != api.CPULimit || one.Answer != "" || *one.Result.Usage.CPU.Value <= int64(r.Limits.CPU) ||
		len(one.Result.LimitsHit) != 1 {
		t.Errorf("%s %s, %v of %s, limits %v", one.Result.Verdict, one.Answer, *one.Result.Usage.CPU.Value, r.Limits.CPU, one.Result.LimitsHit)
	}

	r.Limits.CPU = api.Duration(*u.Value * 2)
	samples := 0
	r.Argv[2] = `read v; sleep 2; echo 1`
	res, err := a.RunEvents(t.Context(), r, strings.NewReader(""), client.Events{Usage: func(api.LiveUsage) { samples++ }})
	if err != nil || samples == 0 || res.Tests[0].Answer != api.Accepted {
		t.Errorf("%d samples, %+v, %v", samples, res.Tests, err)
	}
}
