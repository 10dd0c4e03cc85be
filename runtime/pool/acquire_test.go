package pool

import (
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// The next slot does not go to a test for as long as a refused request takes to be retried, which
// is longer for a large request.
func TestSlotIsReservedUntilRefusedCallerRetries(t *testing.T) {
	p := &Pool{memory: api.GiB, lastWasTest: true, slots: []*slotState{{leased: true}}}
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
		t.Error("owed to one that did not come again")
	}
}
