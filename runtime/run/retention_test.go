package run

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
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

// At its end the reservation of a run is reduced to what its answer carries.
func TestRetentionFinishes(t *testing.T) {
	var now int64
	k := NewRetention(api.Streams{Reserve: func(n int64) error { now += n; return nil }})
	if err := errors.Join(k.Add(100), k.Add(-40), k.Add(7)); err != nil || now != 67 {
		t.Fatalf("%d, %v", now, err)
	}
	k.Finish(&api.Result{Stdout: api.Bytes("12345")})
	if now != 5 {
		t.Errorf("%d are kept for an answer of 5 bytes", now)
	}
	k.Finish(&api.Result{})
	if now != 0 {
		t.Errorf("%d are kept for nothing", now)
	}
	var none *retention
	none.Finish(&api.Result{})
	if err := none.Await(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// Parallel tests of a job wait for each other's memory, reserved for the most that each may retain.
// A test is refused only if the retained results leave too little for it.
func TestTestsOfAJobWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, each, result = 100, 60, 15
		now := int64(0)
		var mu sync.Mutex
		k := NewRetention(api.Streams{Reserve: func(n int64) error {
			mu.Lock()
			defer mu.Unlock()
			if n > 0 && now+n > most {
				return api.Refuse(api.CodeTooLarge, "%d and %d", now, n)
			}
			now += n
			return nil
		}})
		var all sync.WaitGroup
		var fit, refused atomic.Int64
		for range 4 {
			all.Go(func() {
				ended, err := beginTestPatiently(k, each)
				if err != nil {
					refused.Add(1)
					return
				}
				fit.Add(1)
				time.Sleep(time.Second)
				if err := k.Add(result - each); err != nil {
					t.Error(err)
				}
				ended()
			})
		}
		all.Wait()
		// After three tests the results take 45, and 60 more are too many.
		if fit.Load() != 3 || refused.Load() != 1 || now != 3*result {
			t.Errorf("%d had room, %d were refused, %d bytes are kept; want 3, 1 and %d", fit.Load(), refused.Load(), now, 3*result)
		}
		begun := time.Now()
		if _, err := k.beginTest(each); !api.HasCode(err, api.CodeTooLarge) || time.Since(begun) > 0 {
			t.Errorf("with none under way: %v after %v", err, time.Since(begun))
		}
		if ended, err := k.beginTest(most - 3*result); err != nil {
			t.Errorf("one that fits next to the results: %v", err)
		} else {
			ended()
		}
	})
}

// beginTestPatiently retries until memory is available, as a test does.
func beginTestPatiently(k *retention, n int64) (ended func(), err error) {
	for {
		if ended, err = k.beginTest(n); !api.HasCode(err, api.CodeBusy) {
			return ended, err
		}
		time.Sleep(heldRetry)
	}
}

// The error for a test that finds no memory states sizes with units, and how many results fit.
func TestErrorOfATestThatDoesNotFit(t *testing.T) {
	j := &plan.Job{Run: &plan.Run{Limits: api.Defaults(), Collect: api.Collect{None: true}}, Request: api.Run{Tests: []api.Test{{ID: "a"}, {ID: "b"}}, KeepOutput: 8 * api.MiB}}
	s := &testRun{runner: &Runner{Memory: MemoryBounds{Slots: 1, MaxHeld: 256 * api.MiB}}, job: j, results: make([]*api.TestResult, 2), retention: NewRetention(api.Streams{Reserve: func(int64) error { return nil }})}
	if err := s.retention.Add(200<<20 + 300<<10); err != nil {
		t.Fatal(err)
	}
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

// A stream's buffer never takes more memory than is accounted for it.
func TestStreamBufferIsBounded(t *testing.T) {
	const most = 1 << 20
	s := stream{limit: 4 * most, maxKept: most}
	b := make([]byte, 65_000)
	for len(s.kept) < most {
		s.append(b[:min(len(b), most-len(s.kept))])
		if cap(s.kept) > most {
			t.Fatalf("room for %d bytes of %d", cap(s.kept), most)
		}
	}
}

// AGT-21. Of tests that begin at the same moment and do not fit together each waits for another:
// none gets the error that it can never fit.
func TestTestsThatBeginTogetherAreNeverTooLarge(t *testing.T) {
	var held int64
	k := &retention{hold: func(n int64) error {
		if held+n > 1 {
			return api.Fail(api.CodeTooLarge, "one fits")
		}
		held += n
		return nil
	}}
	var ran, waited atomic.Int64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 5000 {
				done, err := k.beginTest(1)
				switch {
				case err == nil:
					ran.Add(1)
					_ = k.Add(-1)
					done()
				case api.HasCode(err, api.CodeBusy):
					waited.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d tests ran, %d waited", ran.Load(), waited.Load())
	if ran.Load() == 0 {
		t.Error("no test ran")
	}
}
