package pool

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A budget is the memory of an agent for tests: common, and a share that each stage has in any case.
type budget struct {
	p      *Pool
	mu     sync.Mutex
	common int64
}

// A part is what one stage needs of a budget above its share.
type part struct {
	*budget
	above int64
}

func (n part) Reserve(common bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.above > 0 && (!common || n.above > n.common) {
		return api.Fail(api.CodeBusy, "no memory for results")
	}
	n.common -= n.above
	return nil
}

func (n part) Release() {
	n.mu.Lock()
	n.common += n.above
	n.mu.Unlock()
}

// A bench has callers wait in the line of a pool without cells, and notes who was served.
type bench struct {
	*testing.T
	p      *Pool
	memory *budget
	places int // of sessions; zero: enough
	mu     sync.Mutex
	served []string
	errs   map[string]error
	leases map[string]*Lease
	all    sync.WaitGroup
}

func newBench(t *testing.T, slots int) *bench {
	b := &bench{T: t, p: &Pool{memory: 100, freed: make(chan struct{}, 1)}, errs: map[string]error{}, leases: map[string]*Lease{}}
	for range slots {
		b.p.slots = append(b.p.slots, &slotState{})
	}
	b.memory = &budget{p: b.p, common: 100}
	ctx, stop := context.WithCancel(t.Context())
	b.p.wg.Go(func() { b.p.serveFreed(ctx) })
	t.Cleanup(func() { stop(); b.p.wg.Wait() })
	return b
}

// asks has a caller wait for a slot, size of memory, and above of the agent's memory above its share.
func (b *bench) asks(ctx context.Context, name string, t Turn, size api.Size, above int64) {
	t.Memory = part{b.memory, above}
	w := &waiter{Turn: t, size: size}
	w.grant = func() error {
		if err := b.p.checkMemory(size, name); err != nil {
			return err
		}
		for _, s := range b.p.slots {
			if !s.leased {
				s.leased = true
				b.p.reserved += size
				b.leases[name] = &Lease{Pool: b.p, slotState: s, memory: size, since: linux.Monotonic()}
				break
			}
		}
		return nil
	}

	b.all.Go(func() {
		err := b.p.await(ctx, w)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.errs[name] = err; err == nil {
			b.served = append(b.served, name)
		}
	})

	synctest.Wait()
}

// ends ends what a caller was served with.
func (b *bench) ends(name string, above int64) {
	b.p.mu.Lock()
	l := b.leases[name]
	b.p.mu.Unlock()
	if l == nil {
		b.Fatalf("%s has no slot", name)
	}
	b.p.Release(l)
	part{b.memory, above}.Release()
	b.p.MemoryFreed()
	synctest.Wait()
}

func (b *bench) wants(names string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := strings.Join(b.served, " "); got != names {
		b.Errorf("served: %s; want %s", got, names)
	}
}

var patient = Turn{Kind: First, Wait: time.Minute}

// D1. Callers whose clients vanish, and callers that are refused, leave nothing in the line: the first that is
// there is served as soon as slot and memory are free, for whatever it needs.
func TestOnlyWhoIsThereIsInTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.asks(t.Context(), "large", patient, 1, 80)
		b.asks(t.Context(), "other", patient, 1, 0)
		gone, vanish := context.WithCancel(t.Context())
		for _, name := range []string{"v1", "v2", "v3"} {
			b.asks(gone, name, patient, 1, 90)
			b.asks(t.Context(), "short "+name, Turn{}, 1, 90)
		}

		b.asks(t.Context(), "last", patient, 1, 90)
		time.Sleep(api.SlotWait)
		synctest.Wait()
		if err := b.errs["short v1"]; !api.HasCode(err, api.CodeBusy) {
			t.Errorf("after %v: %v", api.SlotWait, err)
		}

		vanish()
		synctest.Wait()
		begun := time.Now()
		b.ends("large", 80)
		b.wants("large other last")
		if time.Since(begun) != 0 || len(b.p.line) != 0 {
			t.Errorf("after %v; %d are in the line", time.Since(begun), len(b.p.line))
		}

		b.all.Wait()
	})
}

// A caller that lacks memory keeps neither slots nor its share from those behind it, and nobody takes the
// memory that it waits for before it.
func TestLargeCallersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.asks(t.Context(), "job", patient, 1, 60)
		b.asks(t.Context(), "first", patient, 1, 90)
		b.asks(t.Context(), "second", patient, 1, 35)
		b.asks(t.Context(), "small", patient, 1, 0)
		b.wants("job small")
		b.asks(t.Context(), "next test", Turn{Kind: Test}, 1, 60)
		b.ends("job", 60)
		b.wants("job small first")
		b.ends("first", 90)
		b.wants("job small first second")
		b.ends("small", 0)
		b.wants("job small first second next test")
		b.all.Wait()
	})
}

// Memory for programs goes to each caller that it is enough for, but one that needs more is passed only so often.
func TestACallerThatLacksMemoryIsPassedSoOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2)
		b.asks(t.Context(), "half", patient, 50, 0)
		b.asks(t.Context(), "large", Turn{Kind: Stage}, 80, 0)
		for i := range maxPassed {
			name := "small" + string(rune('a'+i))
			b.asks(t.Context(), name, patient, 1, 0)
			b.ends(name, 0)
		}

		b.asks(t.Context(), "late", patient, 1, 0)
		if _, served := b.leases["late"]; served {
			t.Errorf("%d were served before the one that lacks memory", len(b.served))
		}

		b.ends("half", 0)
		if b.leases["large"] == nil || b.leases["late"] == nil {
			t.Errorf("served: %v", b.served)
		}

		b.all.Wait()
	})
}

// Memory that sessions have for hours is waited for as long as the request says, and keeps nobody else from what is free.
func TestMemoryOfSessionsKeepsNobodyElseWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.session(t.Context(), "lives", 0, 50)
		b.asks(t.Context(), "large", Turn{}, 60, 0)
		b.asks(t.Context(), "stage", Turn{Kind: Stage}, 60, 0)
		for i := range 2 * maxPassed {
			name := string(rune('A' + i))
			b.asks(t.Context(), name, patient, 1, 0)
			b.ends(name, 0)
		}

		time.Sleep(api.SlotWait)
		synctest.Wait()
		if err := b.errs["large"]; !api.HasCode(err, api.CodeOverloaded) {
			t.Error(err)
		}

		b.endsSession("lives", 50)
		if b.leases["stage"] == nil {
			t.Error("not served when the session had ended")
		}

		b.all.Wait()
	})
}

// As many new requests wait as may; more are refused at once, with an estimate.
func TestTheLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		ctx, leave := context.WithCancel(t.Context())
		b.p.leaseTime = time.Second / 2
		b.asks(ctx, "runs", patient, 1, 0)
		for range maxWaiting {
			b.asks(ctx, "waits", patient, 1, 0)
		}

		begun := time.Now()
		b.asks(ctx, "too many", patient, 1, 0)
		err := b.errs["too many"]
		e, ok := err.(*api.Error) //nolint:errorlint // it is not wrapped
		if !ok || e.Code != api.CodeBusy || !e.RetrySafe || e.RetryAfter != time.Minute || time.Since(begun) > 0 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}

		b.asks(ctx, "test", Turn{Kind: Test}, 1, 0) // was admitted before
		b.ends("runs", 0)
		leave()
		b.all.Wait()
		if len(b.p.line) != 0 || b.p.waiting.Load() != 0 {
			t.Errorf("%d are in the line after all have left", len(b.p.line))
		}
	})
}

// Tests alternate with all other callers, and are not kept back by those that cannot be served.
func TestTestsAlternateWithOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1)
		b.asks(t.Context(), "t0", Turn{Kind: Test}, 1, 0)
		for _, name := range []string{"t1", "t2", "t3"} {
			b.asks(t.Context(), name, Turn{Kind: Test}, 1, 0)
		}
		b.asks(t.Context(), "a", patient, 1, 0)
		b.asks(t.Context(), "b", Turn{Kind: Exec}, 1, 0)
		for i := range 5 {
			b.ends(b.served[i], 0)
		}
		b.wants("t0 a t1 b t2 t3")
		b.all.Wait()
	})
}

// A wait for memory ends only after a time in which nothing ran: what runs releases memory.
func TestWaitForMemoryEnds(t *testing.T) {
	for _, above := range []int64{0, 200} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 2)
			b.session(t.Context(), "lives", 0, 50)
			b.asks(t.Context(), "run", patient, 1, 0)
			began := time.Now()
			size := api.Size(60)
			if above > 0 {
				size = 1
			}

			b.asks(t.Context(), "stage", Turn{Kind: Stage}, size, above)
			const run = time.Hour
			time.Sleep(run)
			b.ends("run", 0)
			b.all.Wait()
			if err := b.errs["stage"]; !api.HasCode(err, api.CodeSetupTimeout) {
				t.Error(err)
			}
			if took := time.Since(began); took < run+memoryTimeout || took > run+memoryTimeout+2*memoryTick {
				t.Errorf("after %v; a run had memory for %v", took, run)
			}
		})
	}
}

// Who is canceled while it waits is told for what: memory that others hold is no busy slot.
func TestACanceledWaitNamesWhatWasMissing(t *testing.T) {
	for _, tt := range []struct {
		size  api.Size
		above int64
		want  string
	}{
		{60, 0, "memory for its programs, which others have reserved"},
		{1, 200, "memory of the agent"},
		{1, 0, "a slot"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, 1)
			b.session(t.Context(), "lives", 0, 50)
			if tt.want == "a slot" {
				b.asks(t.Context(), "run", patient, 1, 0)
			}

			left, leave := context.WithCancel(t.Context())
			b.asks(left, "stage", Turn{Kind: Stage}, tt.size, tt.above)
			leave()
			synctest.Wait()
			if err := b.errs["stage"]; err == nil || !strings.Contains(err.Error(), "canceled while waiting for "+tt.want+":") {
				t.Errorf("%v; want %q", err, tt.want)
			}

			if tt.want == "a slot" {
				b.ends("run", 0)
			}
			b.all.Wait()
		})
	}
}
