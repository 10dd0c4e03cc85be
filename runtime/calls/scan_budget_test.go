package calls

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// A count of locks may use its processor time, however long it waits for a processor, and no more.
func TestScanBudgetIsProcessorTime(t *testing.T) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()

	look := newScanBudget()
	look.wall += time.Hour  // a busy machine may use up this one
	time.Sleep(2 * scanCPU) // as on an overloaded host
	if look.over() {
		t.Errorf("over after %s of waiting", 2*scanCPU)
	}

	for begun := threadTime(); threadTime()-begun < 2*scanCPU; {
	}

	if !look.over() {
		t.Errorf("not over after %s of work", 2*scanCPU)
	}
	if look := newScanBudget(); func() bool { look.wall = linux.Monotonic() - 1; return !look.over() }() {
		t.Error("not over when the clock says so")
	}
	if !(scanBudget{}).over() {
		t.Error("the zero value is not over")
	}
}
