package runtime

import (
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// The next slot is another's than a test's for as long as a refused request takes to come
// again, which is longer where it is a large one.
func TestASlotIsOwedUntilTheRefusedComesAgain(t *testing.T) {
	p := &pool{memory: api.GiB, testLast: true, slots: []*stall{{leased: true}}}
	refuse := func(again time.Duration) {
		t.Helper()
		if _, err := p.arrive(t.Context(), cellPlan{}, false, api.MiB, again); !isFull(err, api.CodeBusy) {
			t.Fatal(err)
		}
	}
	if p.owed() {
		t.Error("owed to nobody")
	}
	refuse(0)
	if !p.owed() || p.expected > monotonic()+comesAgain {
		t.Errorf("a small one is expected in %v", p.expected-monotonic())
	}
	refuse(time.Second)
	refuse(0)
	if left := p.expected - monotonic(); !p.owed() || left < time.Second/2 || left > time.Second {
		t.Errorf("a large one is expected in %v", left)
	}
	p.expected = monotonic() - 1
	if p.owed() {
		t.Error("owed to one that did not come again")
	}
}
