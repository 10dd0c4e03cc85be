package pool

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

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
			p := &Pool{slots: []*slotState{{leased: tt.leased}, {leased: tt.leased && tt.memory == 1}}, memory: 100, reserved: 50}
			begun := time.Now()
			done := make(chan error)
			go func() {
				_, err := p.AcquireOptional(t.Context(), Want{Once: true, Memory: tt.memory}, linux.Monotonic()+30*time.Second, nil)
				done <- err
			}()
			err := <-done
			if took := time.Since(begun); !api.HasCode(err, tt.code) || took < tt.min || took > tt.max {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			if len(p.line) != 0 {
				t.Errorf("%s: it is in the line after its end", name)
			}
		})
	}
}

// TPL-15. Work for which nobody waits ends as soon as a caller has to wait, and gets no slot while one waits.
func TestWorkForNobodyYields(t *testing.T) {
	yielded := 0
	busy := &slotState{leased: true, yield: func() { yielded++ }}
	p := &Pool{slots: []*slotState{busy, {leased: true}}, memory: 100}

	p.askToYield(&waiter{yield: func() {}})
	p.askToYield(&waiter{lack: lacksHeld})
	if yielded != 0 {
		t.Errorf("it ended %d times for callers that its end does not help", yielded)
	}
	if err := p.enter(&waiter{grant: func() error { return nil }}); err != nil || yielded != 1 {
		t.Errorf("a caller waits: it ended %d times, %v", yielded, err)
	}

	p.slots[1].leased = false
	p.line[0].grant = func() error { return api.Fail(api.CodeOverloaded, "no memory") }
	work := &waiter{Turn: Turn{Kind: optional}, until: linux.Monotonic() + time.Hour, yield: func() {},
		grant: func() error { return nil }}
	if err := p.enter(work); err != nil || work.served {
		t.Errorf("while a caller waits, it is served: %v, %v", work.served, err)
	}
	p.remove(p.line[0])
	if p.dispatch(); !work.served {
		t.Error("it is not served when nobody waits any more")
	}
}
