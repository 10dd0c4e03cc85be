package neighbours

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// fewStormRuns is how often the neighbour runs in each storm in CI.
const fewStormRuns = 6

// fails is the number of runs with a verdict other than ok.
func fails(bad map[string]int) (n int) {
	for _, k := range bad {
		n += k
	}
	return n
}

// addFails adds the verdicts of further runs.
func addFails(to, more map[string]int) {
	for v, n := range more {
		to[v] += n
	}
}

// stormRuns is how often the neighbour runs in each storm: $BRIG_STORM_RUNS, which make storms sets
// to 200.
func stormRuns(t testing.TB) int {
	text := os.Getenv("BRIG_STORM_RUNS")
	if text == "" {
		return fewStormRuns
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BRIG_STORM_RUNS=%q: write a number", text)
	}
	return n
}

func stormProgram(t testing.TB, name string) api.File {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "storms", name+".c"))
	if err != nil {
		t.Fatal(err)
	}
	return harness.CompileC(t, name, string(source))
}

// CPU-15: an honest program with limits twice its idle measurements keeps its verdict, whatever
// another caller's run, or what an exec of that caller left running, does to the processors, with
// the largest weight and number of processors that it can get. If the program fails while processes
// other than the test's use the processors too, the result is inconclusive, and that part is
// repeated. In CI, where other guests of the machine may slow it down unseen, failures are compared
// with those of the same runs without the storm. The control is the first storm where the operator
// allows more (--max-weight, --max-cpus): there the program misses its limits.
func TestHostileStormsLeaveTheNeighbourAlone(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--sessions", "16")
	storm, honest := stormProgram(t, "storm"), stormProgram(t, "honest")
	limits := idleLimits(t, a, honest)
	for n, tt := range []struct {
		name  string
		begin func(t *testing.T, a *harness.Agent) (end func())
	}{
		{"spin", runStorm(storm, "spin")},
		{"spin-90", runStorm(storm, "spin-90")},
		{"spin-threads", runStorm(storm, "spin-threads")},
		{"fork", runStorm(storm, "fork")},
		{"thread", runStorm(storm, "thread")},
		{"barrier", runStorm(storm, "barrier")},
		{"expedited", runStorm(storm, "expedited")},
		{"private barriers", runStormUnder(storm, "private", "managed")}, // CPU-17
		{"steer", runStormUnder(storm, "steer", "managed")},              // CPU-16
		{"kill", runStorm(storm, "kill")},
		{"rename", runStorm(storm, "rename")},
		{"exec", runStorm(storm, "exec")},
		{"memory", runStorm(storm, "memory")},
		{"write", runStorm(storm, "write")},
		{"lookup", runStorm(storm, "lookup")},
		{"left by an exec", leftStorm(storm, 1, false)},
		{"left by execs of 8 sessions", leftStorm(storm, 8, false)},
		{"left by an exec while another sleeps", leftStorm(storm, 1, true)},
	} {
		if harness.LeftOut(n, 3) && stormRuns(t) == fewStormRuns { // six of each kind stay, forks and memory among them
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			bad := runInStorm(t, a, honest, limits, stormRuns(t), tt.begin)
			t.Logf("of %d runs: %v", stormRuns(t), bad)
			if len(bad) > 0 && stormRuns(t) == fewStormRuns {
				// The host may have become slower since the limits were measured, by other guests of
				// its processors. The same runs without the storm show that. On some days of one host forks on one
				// processor double the processor time of a program on the other: 5 to 30 of 40 runs exceed twice the
				// idle figures, and none exceeds three times. make storms is strict.
				wider := limits
				if tt.name == "fork" {
					wider.CPU, wider.Wall = limits.CPU*3/2, limits.Wall*3/2
				}
				bad = failsMoreInStorm(t, a, honest, wider, tt.begin)
			}
			if len(bad) > 0 {
				t.Errorf("a neighbour's program with limits of %s cpu and %s wall, twice its idle figures: %v", limits.CPU, limits.Wall, bad)
			}
		})
	}

	t.Run("control", func(t *testing.T) {
		a.Stop()
		open := harness.StartAgent(t, "--slots", "2", "--max-weight", "262144", "--max-cpus", "2")
		bad := map[string]int{}
		for range 10 { // one is enough, and each takes seconds
			if addFails(bad, runInStorm(t, open, honest, limits, 1, runStorm(storm, "spin"))); len(bad) > 0 {
				break
			}
		}
		t.Logf("of up to 10 runs: %v", bad)
		if len(bad) == 0 {
			t.Error("a storm with all the weight there is changes no verdict: the test proves nothing")
		}
	})
}

// failsMoreInStorm runs a program in turn next to a storm and alone, and returns the failures next to
// the storm where they are more than one in ten above those of the program alone. If the host has become so slow that
// the program fails alone, the limits are measured anew.
func failsMoreInStorm(t *testing.T, a *harness.Agent, honest api.File, limits api.Limits,
	begin func(t *testing.T, a *harness.Agent) func()) map[string]int {
	t.Helper()
	const rounds, attempts = 4, 3
	calm := func(*testing.T, *harness.Agent) func() { return func() {} }
	var alone, inStorm map[string]int
	for range attempts {
		alone, inStorm = map[string]int{}, map[string]int{}
		for range rounds {
			addFails(alone, runInStorm(t, a, honest, limits, fewStormRuns, calm))
			addFails(inStorm, runInStorm(t, a, honest, limits, fewStormRuns, begin))
		}

		t.Logf("of %d runs: %v next to the storm, %v alone", rounds*fewStormRuns, inStorm, alone)
		switch now := idleLimits(t, a, honest); {
		case fails(inStorm) <= fails(alone)+rounds*fewStormRuns/10:
			return nil
		case fails(alone) <= rounds*fewStormRuns/2:
			return inStorm
		default:
			limits.CPU, limits.Wall = max(limits.CPU, now.CPU), max(limits.Wall, now.Wall)
		}
	}

	t.Fatalf("this host is less than half as fast as when the limits were measured: %v fail without a storm", alone)
	return nil
}

// idleLimits are limits of twice what a program uses when nothing else runs.
func idleLimits(t testing.TB, a *harness.Agent, honest api.File) api.Limits {
	t.Helper()
	var cpu, wall, memory []int64
	for range 15 {
		res := a.MustRun(t, harness.Program(honest))
		harness.WantVerdict(t, res, api.OK)
		cpu, wall, memory = append(cpu, *res.Usage.CPU.Value), append(wall, res.Timing.Wall), append(memory, *res.Usage.Memory.Value)
	}
	quiet := func(of []int64) int64 { slices.Sort(of); return of[len(of)/4] } // of runs that no process outside the test has slowed down
	l := api.Limits{CPU: api.Duration(2 * quiet(cpu)), Wall: api.Duration(2 * quiet(wall)), Memory: api.Size(2*quiet(memory)) + api.MiB}
	t.Logf("limits: cpu %s, wall %s, memory %s", l.CPU, l.Wall, l.Memory)
	return l
}

// runInStorm runs a program n times in a storm and counts the verdicts that are not ok.
func runInStorm(t *testing.T, a *harness.Agent, honest api.File, limits api.Limits, n int,
	begin func(t *testing.T, a *harness.Agent) func()) (bad map[string]int) {
	t.Helper()
	const size, others, patience = 10, 0.15, 90 * time.Second
	bad = map[string]int{}
	var noise []float64
	for since := time.Now(); n > 0; {
		end := begin(t, a)
		began, before := time.Now(), loadOf(t, a)
		failed := map[string]int{}
		for range min(n, size) {
			r := harness.Program(honest)
			r.Limits, r.Collect.None = limits, true
			if res := runRetrying(t, a, r); res.Verdict != api.OK {
				failed[string(res.Verdict)]++
			}
		}

		othersLoad := othersUse(before, loadOf(t, a), time.Since(began))
		end()
		if len(failed) > 0 && othersLoad > others {
			if noise = append(noise, othersLoad); time.Since(since) < patience {
				continue
			}
			if stormRuns(t) != fewStormRuns {
				t.Fatalf("the host is too busy to tell: others use %.2f processors", noise)
			}
			// In CI others may always be busy: what fails is compared with runs without a storm.
		}
		if len(failed) > 0 {
			t.Logf("%v while others use %.2f processors", failed, othersLoad)
		}

		n -= size
		addFails(bad, failed)
	}

	return bad
}

// runRetrying is run for a caller that retries while all slots are busy.
func runRetrying(t testing.TB, a *harness.Agent, r api.Run) api.Result {
	t.Helper()

	for {
		res, err := a.Run(t.Context(), r)
		var e *api.Error
		switch {
		case err == nil:
			return res
		case errors.As(err, &e) && e.Code == api.CodeBusy, harness.AgentStood(err):
			time.Sleep(2 * time.Millisecond)
		default:
			t.Fatalf("run: %v\n%s", err, a.Log)
		}
	}
}

// largestLimits requests the most that a caller other than root can get.
func largestLimits(a *harness.Agent, wall api.Duration) api.Limits {
	r := harness.Sh("exit 0")
	r.Limits = api.Limits{CPUs: 2, Weight: 262144}
	if _, err := a.Client.Run(context.Background(), r); err != nil { // a refusal is expected here
		return api.Limits{CPUs: 1, Weight: 1024, Wall: wall}
	}
	return api.Limits{CPUs: 2, Weight: 262144, Wall: wall}
}

// runStorm keeps a run of another caller in the other slot all the time.
func runStorm(storm api.File, name string) func(t *testing.T, a *harness.Agent) func() {
	return runStormUnder(storm, name, "")
}

// runStormUnder is runStorm under a tier.
func runStormUnder(storm api.File, name, tier string) func(t *testing.T, a *harness.Agent) func() {
	return func(t *testing.T, a *harness.Agent) func() {
		limits := largestLimits(a, harness.Seconds(20))
		return runRepeatedly(t, a, func() api.Run {
			r := harness.Program(storm, name)
			r.Profile, r.Limits, r.Collect.None = tier, limits, true
			return r
		})
	}
}

// runRepeatedly executes one run after the other until end is called. It returns after 300 ms, when the
// first has begun.
func runRepeatedly(t *testing.T, a *harness.Agent, next func() api.Run) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var storm sync.WaitGroup
	storm.Go(func() {
		for ctx.Err() == nil {
			if _, err := a.Run(ctx, next()); err != nil && ctx.Err() == nil {
				var e *api.Error
				if (!errors.As(err, &e) || e.Code != api.CodeBusy) && !harness.AgentStood(err) {
					t.Errorf("storm: %v", err)
					return
				}
			}
		}
	})

	time.Sleep(300 * time.Millisecond)
	return func() { stop(); storm.Wait() }
}

// leftStorm has execs of n sessions leave spinners behind, and optionally runs an exec in each of
// them that only sleeps meanwhile.
func leftStorm(storm api.File, n int, sleeps bool) func(t *testing.T, a *harness.Agent) func() {
	return func(t *testing.T, a *harness.Agent) func() {
		limits := largestLimits(a, 0)
		limits.Memory = 64 * api.MiB
		var ids []string
		ctx, stop := context.WithCancel(t.Context())
		var asleep sync.WaitGroup
		for range n {
			s := a.NewSession(t, func(s *api.SessionRequest) { s.Limits = limits })
			ids = append(ids, s.ID)
			if err := a.PutFile(t.Context(), s.ID, storm.Name, bytes.NewReader(storm.Content), true); err != nil {
				t.Fatal(err)
			}

			harness.WantVerdict(t, a.MustExec(t, s.ID, api.Exec{Argv: []string{"./" + storm.Name, "spin", "left"}}), api.OK)
			if sleeps {
				asleep.Go(func() {
					for ctx.Err() == nil {
						_, _ = a.Client.Exec(ctx, s.ID, api.Exec{Argv: []string{"sleep", "20"}})
					}
				})
			}
		}

		time.Sleep(300 * time.Millisecond)
		return func() {
			stop()
			asleep.Wait()
			for _, id := range ids {
				if err := a.DeleteSession(context.WithoutCancel(t.Context()), id); err != nil {
					t.Error(fmt.Errorf("delete a session: %w", err))
				}
			}
		}
	}
}
