package runtime

import (
	goruntime "runtime"
	"testing"
	"time"
)

// A count of locks may take its processor time, however long it waits for a processor,
// and no more.
func TestLookTimeIsOfTheProcessor(t *testing.T) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	look := newLookTime()
	time.Sleep(2 * lookProcessor) // as on a host that is overloaded
	if look.over() {
		t.Errorf("over after %s of waiting", 2*lookProcessor)
	}
	for begun := threadTime(); threadTime()-begun < 2*lookProcessor; {
	}
	if !look.over() {
		t.Errorf("not over after %s of work", 2*lookProcessor)
	}
	if look := newLookTime(); func() bool { look.wall = monotonic() - 1; return !look.over() }() {
		t.Error("not over when the clock says so")
	}
	if !(lookTime{}).over() {
		t.Error("the zero value is not over")
	}
}
