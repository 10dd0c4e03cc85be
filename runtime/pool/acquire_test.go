package pool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// The next slot does not go to a test for as long as a refused request takes to be retried, which
// is longer for a large request.
func TestSlotIsReservedUntilRefusedCallerRetries(t *testing.T) {
	p := &Pool{memory: api.GiB, lastWasTest: true, released: make(chan struct{}), slots: []*slotState{{leased: true}}}
	refuse := func(again time.Duration) {
		t.Helper()
		if _, err := p.Acquire(t.Context(), cell.Plan{}, false, api.MiB, again); !api.HasCode(err, api.CodeBusy) {
			t.Fatal(err)
		}
	}
	if p.nextIsReserved() {
		t.Error("a slot is reserved although no request was refused")
	}
	refuse(0)
	if !p.nextIsReserved() || p.retryUntil > linux.Monotonic()+RetryWindow {
		t.Errorf("a small one is expected in %v", p.retryUntil-linux.Monotonic())
	}
	refuse(time.Second)
	refuse(0)
	if left := p.retryUntil - linux.Monotonic(); !p.nextIsReserved() || left < time.Second/2 || left > time.Second {
		t.Errorf("a large one is expected in %v", left)
	}
	p.retryUntil = linux.Monotonic() - 1
	if p.nextIsReserved() {
		t.Error("a slot is reserved for a caller that did not retry")
	}
}

// A new request waits for a slot that is released soon. Meanwhile no further test gets one, and afterwards
// all slots are for tests again: two runs with tests would otherwise wait for each other, each time for
// RetryWindow.
func TestNewRequestsWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{memory: api.GiB, lastWasTest: true, released: make(chan struct{}), slots: []*slotState{{leased: true}}}
		got := make(chan error)
		begun := time.Now()
		go func() {
			_, err := p.AcquireFirst(t.Context(), 0, func() (*Lease, error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.slots[0].leased {
					return nil, api.Fail(api.CodeBusy, "no slot")
				}
				return &Lease{}, nil
			})
			got <- err
		}()
		synctest.Wait()
		if !p.nextIsReserved() {
			t.Fatal("the next slot is not reserved for the request that waits")
		}
		if _, err := p.Acquire(t.Context(), cell.Plan{}, false, api.MiB, 0); !api.HasCode(err, api.CodeBusy) || time.Since(begun) > 0 {
			t.Fatalf("a second request with one slot: %v after %v; want a refusal at once", err, time.Since(begun))
		}
		p.Release(&Lease{Pool: p, slotState: p.slots[0]})
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if p.waitingRuns != 0 || p.retryUntil != 0 {
			t.Errorf("%d requests wait, and slots are reserved until %v, after the request got one", p.waitingRuns, p.retryUntil)
		}
	})
}

// A request whose caller leaves while it waits is not refused as busy: nobody is expected to retry.
func TestCallerLeavesWhileWaiting(t *testing.T) {
	p := &Pool{memory: api.GiB, released: make(chan struct{}), slots: []*slotState{{leased: true}}}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := p.Acquire(ctx, cell.Plan{}, false, api.MiB, 0); !api.HasCode(err, api.CodeStopping) {
		t.Fatal(err)
	}
	p.lastWasTest = true
	if p.nextIsReserved() || p.waitingRuns != 0 {
		t.Errorf("reserved for a caller that left; %d wait", p.waitingRuns)
	}
}

// TPL-08. Work that runs can do without waits for a slot until its time, for memory only a moment, and not
// at all for memory that only sessions have.
func TestOptionalWorkWaitsAMoment(t *testing.T) {
	for name, tt := range map[string]struct {
		leased   bool
		memory   api.Size
		code     api.Code
		min, max time.Duration
	}{
		"all slots are busy":       {true, 1, api.CodeBusy, 30 * time.Second, 30 * time.Second},
		"runs have the memory":     {true, 100, api.CodeSetupTimeout, optionalMemoryWait, 2 * optionalMemoryWait},
		"sessions have the memory": {false, 100, api.CodeSetupTimeout, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Pool{slots: []*slotState{{leased: tt.leased}}, memory: 100, reserved: 50, lastWasTest: true, released: make(chan struct{})}
			begun := time.Now()
			done := make(chan error)
			go func() {
				_, err := p.AcquireOptional(t.Context(), cell.Plan{}, true, tt.memory, linux.Monotonic()+30*time.Second)
				done <- err
			}()
			synctest.Wait()
			if p.mu.Lock(); tt.leased && p.waitingExecs != 1 {
				t.Errorf("%s: tests take every slot before it", name)
			}
			p.mu.Unlock()
			err := <-done
			if took := time.Since(begun); !api.HasCode(err, tt.code) || took < tt.min || took > tt.max {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			if p.waitingExecs != 0 {
				t.Errorf("%s: a slot is reserved for it after its end", name)
			}
		})
	}
}
