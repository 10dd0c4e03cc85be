package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

func TestMaxRetained(t *testing.T) {
	r := &Runner{Planner: &plan.Planner{}}
	none, expected := api.Collect{None: true}, api.Bytes("x")
	limits, big := api.Defaults(), api.Defaults()
	big.Output = 64 * api.MiB

	for _, tt := range []struct {
		name     string
		run      plan.Run
		streamed bool
		want     api.Size
	}{
		{"both streams, which grow", plan.Run{Limits: limits, Collect: none}, false, 48 * api.MiB},
		{"of large ones what an answer carries", plan.Run{Limits: big, Collect: none}, false, 48 * api.MiB},
		{"files", plan.Run{Limits: limits}, false, 48*api.MiB + api.CollectBytes},
		{"a timeline and its copy", plan.Run{Limits: limits, Collect: none, Timeline: &api.TimelineRequest{}}, true, 48_000},
		{"a stream", plan.Run{Limits: big, Collect: none}, true, 0},
	} {
		if got := api.Size(MaxRetained(&tt.run, tt.streamed)); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}

	j := &plan.Job{Run: &plan.Run{Limits: big, Collect: none}, Request: api.Run{Tests: make([]api.Test, 2)}}
	for _, tt := range []struct {
		test api.Test
		want api.Size
	}{
		{api.Test{}, 192 * api.KiB},
		{api.Test{Expected: &expected}, 96*api.MiB + 192*api.KiB},
		{api.Test{Expected: &expected, Limits: api.Limits{Output: api.MiB}}, 1536*api.KiB + 192*api.KiB},
	} {
		if got := api.Size(r.maxTestRetained(j, tt.test)); got != tt.want {
			t.Errorf("a test: %s; want %s", got, tt.want)
		}
	}

	j.Request.OutputFile = "output.txt" // read into a buffer of its size; stdout is not needed
	for _, tt := range []struct {
		test api.Test
		want api.Size
	}{
		{api.Test{}, 64*api.MiB + 256*api.KiB},
		{api.Test{Expected: &expected, Limits: api.Limits{Output: api.MiB}}, api.MiB + 256*api.KiB},
	} {
		if got := api.Size(r.maxTestRetained(j, tt.test)); got != tt.want {
			t.Errorf("a test with an output file: %s; want %s", got, tt.want)
		}
	}

	if got := plan.KeptTestOutput(api.Run{Tests: make([]api.Test, api.MaxTests)}); got != api.KiB {
		t.Errorf("of as many tests as there may be %s of each stream are kept; want 1K", got)
	}

	for n, want := range map[int]int64{1: 0, usualTests: 0, usualTests + 3: 12 << 10} {
		if got := manyTests(api.Run{Tests: make([]api.Test, n)}); got != want {
			t.Errorf("the results of %d tests: %d; want %d", n, got, want)
		}
	}
}

// held is an api.Memory that grants everything.
type held struct{ kept, stages int64 }

func (h *held) Keep(n int64) error                { h.kept += n; return nil }
func (h *held) Begin(maximum int64, _ bool) error { h.stages += maximum; return nil }
func (h *held) Cancel(maximum int64)              { h.stages -= maximum }
func (h *held) End(maximum, kept int64)           { h.stages, h.kept = h.stages-maximum, h.kept+kept }

// At its end what a run retains is reduced to what its answer carries.
func TestRetentionFinishes(t *testing.T) {
	var now held
	k := NewRetention(api.Streams{Memory: &now})
	in, one, never := &input{k, 7}, k.Stage(100), k.Stage(1000)
	if err := errors.Join(in.Reserve(false), one.Reserve(true)); err != nil || now != (held{7, 100}) {
		t.Fatalf("%+v, %v", now, err)
	}

	one.End(60)
	one.End(60) // it has ended
	never.End(5)
	if now != (held{67, 0}) {
		t.Fatalf("%+v after a stage of which 60 bytes are left", now)
	}
	if again := k.Stage(10); again.Reserve(true) != nil || now.stages != 10 {
		t.Fatal(now)
	} else {
		again.Release()
	}

	k.Finish(&api.Result{Stdout: api.Bytes("12345")})
	if now != (held{5, 0}) || k.size() != 5 {
		t.Errorf("%+v are kept for an answer of 5 bytes", now)
	}

	k.Finish(&api.Result{})
	if now != (held{}) {
		t.Errorf("%+v are kept for nothing", now)
	}

	var none *retention
	none.Finish(&api.Result{})
	if err := errors.Join(none.Await(t.Context(), nil, pool.Turn{}, 1), none.Stage(5).Reserve(false)); err != nil {
		t.Error(err)
	}

	none.Stage(5).End(3)
}

// No stage of a request that sets no limit of its own needs more of the agent's memory than it has
// guaranteed: a run, a compile stage, tests with each way of judging, and an installation.
func TestADefaultRequestIsWithinItsShare(t *testing.T) {
	r := &Runner{Planner: &plan.Planner{}}
	right := api.Bytes("x")
	test := api.Test{Expected: &right}
	whole := plan.Run{Limits: api.Defaults()}
	judged := func(globs []string) *plan.Job {
		one := plan.Run{Limits: api.Defaults(), MaxKept: [2]api.Size{judge.MaxStream, judge.MaxStream}}
		one.Collect = api.Collect{Globs: globs, None: len(globs) == 0}
		return &plan.Job{Run: &one}
	}

	stages := map[string]int64{
		"a run":           MaxRetained(&whole, false),
		"a compile stage": compileRetention(&whole),
		"an installation": InstallRetention,
	}

	for tests := range 3 {
		j := &plan.Job{Run: &whole, Request: api.Run{Tests: make([]api.Test, 1+tests*8)}}
		stages[fmt.Sprint("a comparison ", tests)] = r.maxTestRetained(j, test)
		file := *j
		file.Request.OutputFile = "out"
		stages[fmt.Sprint("an output file ", tests)] = r.maxTestRetained(&file, test)
		for _, p := range api.Protocol("").Values() {
			checked := *j
			checked.Request.Check, checked.Checker = &api.Check{Protocol: p}, judged(judge.ProtocolOf(p).Collect)
			stages[fmt.Sprint("a checker of ", p, tests)] = r.maxTestRetained(&checked, test)
			talks := *j
			talks.Request.Interactor, talks.Interactor = &api.Interactor{Protocol: p}, judged(judge.InteractionOf(p).Collect)
			stages[fmt.Sprint("an interactor of ", p, tests)] = r.maxTestRetained(&talks, test)
		}
	}

	for name, needs := range stages {
		t.Logf("%s: %s", name, api.Size(needs))
		if api.Size(needs) > heldShare {
			t.Errorf("%s may retain %s, and its share is %s", name, api.Size(needs), heldShare)
		}
	}

	for slots := 1; slots <= 64; slots *= 2 {
		for _, host := range []api.Size{api.GiB, 4 * api.GiB, 512 * api.GiB} {
			b := MemoryBounds{Slots: slots, MaxHeld: MaxHeld(slots, host)}
			if b.HeldCommon() < 64*api.MiB || b.HeldCommon()+heldShare > b.MaxHeld {
				t.Errorf("%d slots, %s: %s for all, %s common", slots, host, b.MaxHeld, b.HeldCommon())
			}
		}
	}
}

// The error for a test that finds no memory states sizes with units, and how many results fit.
func TestErrorOfATestThatDoesNotFit(t *testing.T) {
	j := &plan.Job{Run: &plan.Run{Limits: api.Defaults(), Collect: api.Collect{None: true}},
		Request: api.Run{Tests: []api.Test{{ID: "a"}, {ID: "b"}}, KeepOutput: 8 * api.MiB}}
	s := &testRun{runner: &Runner{Memory: MemoryBounds{Slots: 1, MaxHeld: 256 * api.MiB}}, job: j, results: make([]*api.TestResult, 2),
		retention: NewRetention(api.Streams{Memory: new(held)})}
	s.retention.add(200<<20 + 300<<10)
	full := api.Refuse(api.CodeTooLarge, "full")
	for keeps, want := range map[int64]string{
		100 << 20: `test "b" may need 100M of the agent's memory while it runs, and the results before it, 1 of 2, take 200.3M of the 256M in total: together with such a test 9 results of up to 16M each fit (keep_output of each stream and of output_file, and collect.bytes): lower these`,
		300 << 20: `test "b" may need 300M of the agent's memory, and one request gets at most 256M: lower its limits.output,`,
	} {
		if err := s.tooLargeError(full, 1, keeps); !api.HasCode(err, api.CodeTooLarge) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}

	busy := api.Fail(api.CodeBusy, "busy")
	if err := s.tooLargeError(busy, 1, 1); !errors.Is(err, busy) {
		t.Errorf("%v; want it as it was", err)
	}
}
