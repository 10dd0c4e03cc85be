package neighbours

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/seccomp"
)

// MEM-13: while runs in every other slot repeatedly take memory until they are killed for it, a
// neighbour keeps what it has and ends well, and the agent serves the next request.
func TestHostileMemoryBombsNextToARun(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "4", "--memory", "512M", "--max-wall", "10m", "--max-cpu", "10m")
	bombs := []api.File{harness.BuildProbe(t, "MEM-01"), harness.BuildProbe(t, "MEM-05")}
	holder := harness.CompileC(t, fmt.Sprintf("holder-%d", os.Getpid()), `#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { size_t n = 4 << 20; unsigned *p = malloc(n * sizeof *p), sum = 0, again = 0; char b;
  for (size_t i = 0; i < n; i++) sum += p[i] = i * 2654435761u;
  puts("begun"); fflush(stdout); while (read(0, &b, 1) > 0);
  for (size_t i = 0; i < n; i++) again += p[i];
  return sum != again; }`)

	r := harness.Program(holder)
	r.Limits = api.Limits{Memory: 32 * api.MiB, Wall: harness.Slowly(300)}
	neighbour := a.StartHeldRun(t, r)
	blow := func(slots int) {
		var wg sync.WaitGroup
		for slot := range slots {
			wg.Go(func() {
				for i := range 4 {
					bomb := harness.Program(bombs[(slot+i)%len(bombs)])
					bomb.Limits, bomb.Collect.None = api.Limits{Memory: 32 * api.MiB, Wall: harness.Slowly(20), Pids: 20}, true
					res, err := a.Run(t.Context(), bomb)
					if err != nil {
						t.Errorf("bomb: %v", err)
						continue
					}
					harness.WantVerdict(t, res, api.MemoryLimit)
				}
			})
		}

		wg.Wait()
	}

	blow(3)
	res := neighbour.Release()
	if n := res.Usage.OOMKills.Value; n == nil || *n != 0 || len(res.LimitsHit) != 0 {
		t.Errorf("the neighbour met %v, killed for memory: %v", res.LimitsHit, n)
	}

	blow(4)
	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
	select {
	case <-a.Done:
		t.Fatalf("the agent has ended: %v", a.Err)
	default:
	}
}

// PID-14: what the kernel counts by user is counted separately for each slot: when one run has
// taken as much as it can, a run in another slot gets as much, and the host's root has some left. A
// second taker in the same run, the control, gets less.
func TestHostileQuotasArePerSlot(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	probe := harness.BuildProbe(t, "quotas")
	probe.Name = fmt.Sprintf("quotas-%d", os.Getpid())
	watching := tierWithRules(t, "default", // no tier lets a run watch files or make a pipe larger; an operator's profile may
		seccomp.Rule{Names: []string{"inotify_init1"}, Answer: seccomp.Allow(), Why: "watching files"},
		seccomp.Rule{Names: []string{"fcntl"}, Args: []seccomp.ArgCond{{Index: 1, Value: unix.F_SETPIPE_SZ}},
			Answer: seccomp.Allow(), Why: "larger pipes"})
	for _, tt := range []struct {
		name string
		mode api.ProfileMode
		keys string
	}{{"as the filter lets them", "", ""}, {"as the kernel lets them", api.Log, "keys"}} {
		t.Run(tt.name, func(t *testing.T) {
			take := func(args ...string) api.Run {
				r := harness.Program(probe, args...)
				r.ProfileRules, r.ProfileMode = watching, tt.mode
				r.Limits = api.Limits{Wall: harness.Slowly(30), Pids: 90, OpenFiles: 1000}
				return r
			}

			first := a.StartHeldRun(t, take(tt.keys))
			second := a.MustRun(t, take(tt.keys))
			harness.WantVerdict(t, second, api.OK)
			if n, err := unix.InotifyInit1(unix.IN_CLOEXEC); err != nil {
				t.Errorf("the host's root cannot watch files meanwhile: %v", err)
			} else {
				unix.Close(n)
			}

			first.Release()
			had, has := parseQuotas(first.Said.String()), parseQuotas(string(second.Stdout))
			var left map[string]int
			for range 5 { // keys of earlier runs are freed with a delay, also in between
				res := a.MustRun(t, take(tt.keys, "twice"))
				harness.WantVerdict(t, res, api.OK)
				_, again, ok := strings.Cut(string(res.Stdout), "second\n")
				if !ok {
					t.Fatalf("the control says %q", res.Stdout)
				}
				if left = parseQuotas(again); left["keys"] <= had["keys"]/2 {
					break
				}
			}

			for name, n := range had {
				switch { // queues need a limit that no cell has; keys are freed some time after they become unreachable
				case name == "queues" || name == "keys" && tt.keys == "":
					if n+has[name] != 0 {
						t.Errorf("%s: %d and %d; want none", name, n, has[name])
					}
				case n == 0 || left[name] > n/2:
					t.Errorf("%s: one gets %d, a second next to it in the same run %d: the test proves nothing", name, n, left[name])
				case has[name] < n*9/10 && name != "keys" || has[name] < n/2:
					t.Errorf("%s: one gets %d, a neighbour %d; want as many", name, n, has[name])
				}
			}

			t.Logf("%s: %v, a neighbour %v, a second in one run %v", tt.name, had, has, left)
		})
	}
}

// tierWithRules is a tier with additional rules, as a request has it.
func tierWithRules(t testing.TB, tier string, more ...seccomp.Rule) []byte {
	t.Helper()
	p, err := seccomp.Tier(tier)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(seccomp.Extend(p, nil, more))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// parseQuotas parses what the probe of that name took.
func parseQuotas(out string) map[string]int {
	got := map[string]int{}
	for line := range strings.Lines(out) {
		if at := strings.LastIndexByte(strings.TrimSpace(line), ' '); at > 0 {
			n, err := strconv.Atoi(strings.TrimSpace(line[at:]))
			if err == nil {
				got[line[:at]] = n
			}
		}
	}
	return got
}

// CPU-12: with four times as many sleepers as slots, which retry as soon as they are done or
// refused, every other caller is eventually served; a caller that is not served learns that at once,
// not kept waiting.
func TestHostileSleepersCannotHoldEverySlot(t *testing.T) {
	const slots = 2
	a := harness.StartAgent(t, "--slots", strconv.Itoa(slots))
	ctx, enough := context.WithCancel(t.Context())
	defer enough()

	var slept, refused atomic.Int64
	var slowest atomic.Int64 // longest time until a refusal, in ns
	try := func(ctx context.Context, r api.Run, want api.Verdict) (served bool) {
		began := time.Now()
		res, err := a.Run(ctx, r)
		var e *api.Error
		switch {
		case err == nil:
			harness.WantVerdict(t, res, want)
			return true
		case ctx.Err() != nil, harness.AgentStood(err):
		case !errors.As(err, &e) || e.Code != api.CodeBusy || !e.RetrySafe:
			t.Errorf("refused with %v; want busy, safe to retry", err)
		default:
			refused.Add(1)
			for took := int64(time.Since(began)); ; {
				if old := slowest.Load(); old >= took || slowest.CompareAndSwap(old, took) {
					break
				}
			}
		}

		return false
	}

	again := func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}

	var sleepers sync.WaitGroup
	for range 4 * slots {
		sleepers.Go(func() {
			r := harness.Sh("sleep 100")
			r.Limits = api.Limits{CPU: harness.Seconds(20), Wall: harness.Seconds(0.2), Memory: 64 * api.MiB} // slots are exhausted, not memory
			for ctx.Err() == nil {
				if try(ctx, r, api.WallLimit) {
					slept.Add(1)
				}
				again(ctx)
			}
		})
	}

	for deadline := harness.Patience(); slept.Load() < 2*slots; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no sleeper gets to sleep")
		}
	}

	var waits []time.Duration
	for range 10 {
		began := time.Now()
		r := harness.Sh("exit 0")
		r.Limits.Memory = 64 * api.MiB
		for !try(ctx, r, api.OK) {
			if time.Since(began) > harness.Slow(30*time.Second) {
				t.Fatal("another caller is never served")
			}
			again(ctx)
		}
		waits = append(waits, time.Since(began))
	}

	enough()
	sleepers.Wait()
	slices.Sort(waits)
	if refused.Load() == 0 {
		t.Error("nobody was refused: the slots were never all taken")
	}
	if took := time.Duration(slowest.Load()); took > harness.Slow(10*time.Second) {
		t.Errorf("a caller waited %s for the error that all slots are busy", took)
	}

	t.Logf("waits %v; %d slept, %d refusals", waits, slept.Load(), refused.Load())
}

// A talker is a run that answers requests line by line.
type talker struct {
	ask    *io.PipeWriter
	answer *bufio.Scanner
	done   chan api.Result
}

// talk starts r and connects its stdin and stdout.
func talk(t testing.TB, a *harness.Agent, r api.Run) *talker {
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	k := &talker{ask: ask, answer: bufio.NewScanner(answer), done: make(chan api.Result, 1)}
	go func() { // joined through done
		res, err := a.RunStream(t.Context(), r, in, out, nil)
		if err != nil {
			t.Errorf("run: %v", err)
		}
		out.CloseWithError(err)
		in.Close()
		k.done <- res
	}()

	return k
}

// readUntil reads answers up to one that equals last.
func (k *talker) readUntil(t testing.TB, last string) (lines []string) {
	t.Helper()
	for k.answer.Scan() {
		if k.answer.Text() == last {
			return lines
		}
		lines = append(lines, k.answer.Text())
	}
	t.Fatalf("it ends without saying %q: %q, %+v", last, lines, <-k.done)
	return nil
}

// Two concurrent runs in two slots search for each other with every means that the corpus knows and
// find nothing, with the filter and without; two programs of one run, the control, find each other.
func TestHostileNeighboursDoNotFindEachOther(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	probe := harness.BuildProbe(t, "neighbour")
	names := []string{"markA", "markB"}
	for _, mode := range []api.ProfileMode{"", api.Log} {
		with := func(r api.Run) api.Run {
			r.ProfileMode, r.Limits = mode, harness.HostileLimits()
			r.Limits.Wall = harness.Slowly(200)
			r.Collect.None = true
			return r
		}

		t.Run("filter "+string(mode), func(t *testing.T) {
			// Both leave their marks before either searches, and neither ends before both have
			// searched.
			one, two := talk(t, a, with(harness.Program(probe, names[0], names[1]))), talk(t, a, with(harness.Program(probe, names[1], names[0])))
			for _, k := range []*talker{one, two} {
				k.readUntil(t, "left")
			}

			for range 3 {
				for _, k := range []*talker{one, two} {
					if _, err := io.WriteString(k.ask, "look\n"); err != nil {
						t.Fatal(err)
					}
				}
				for i, k := range []*talker{one, two} {
					if found := k.readUntil(t, "looked"); len(found) != 0 {
						t.Errorf("%s finds %q", names[i], found)
					}
				}
			}

			for _, k := range []*talker{one, two} {
				k.ask.Close()
				harness.WantVerdict(t, <-k.done, api.OK)
			}

			both := talk(t, a, with(api.Run{Image: "tiny", Files: []api.File{probe}, Argv: []string{"/bin/sh", "-c",
				"(echo look; sleep 150) | ./neighbour markA markB >/dev/null & sleep 0.3; exec ./neighbour markB markA"}}))
			both.readUntil(t, "left")
			want := []string{"found path /tmp/markA", "found path /dev/shm/markA", "found path /box/markA", "found named semaphore of markA",
				"found process of markA", "found signal to it of markA"}
			if mode == api.Log {
				want = append(want, "found path socket of markA", "found abstract socket of markA", "found shm of markA",
					"found msg of markA", "found sem of markA")
			}

			for deadline := harness.Patience(); len(want) > 0; { // the other may not be done yet
				if _, err := io.WriteString(both.ask, "look\n"); err != nil {
					t.Fatal(err)
				}
				found := both.readUntil(t, "looked")
				want = slices.DeleteFunc(want, func(w string) bool { return slices.Contains(found, w) })
				if len(want) > 0 && time.Now().After(deadline) {
					t.Fatalf("side by side in one run they do not find %q but %q: the test proves nothing", want, found)
				}
				time.Sleep(20 * time.Millisecond)
			}

			both.ask.Close()
			harness.WantVerdict(t, <-both.done, api.OK)
		})
	}
}
