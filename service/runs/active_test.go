package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
)

// A key's finished runs are not dropped because another key has many.
func TestDoneRunsOfOthersStay(t *testing.T) {
	for what, event := range map[string]string{"many": "x", "large": strings.Repeat("x", 1<<20)} {
		r := newActiveRuns()
		finish := func(owner, id string) {
			a := &activeRun{id: id, owner: owner, Log: newLog()}
			if !r.add(a) {
				t.Fatal("not added")
			}
			a.Log.Put(t.Context(), "stdout", event)
			r.finished(a)
		}

		for i := range 3 {
			finish("ann", fmt.Sprint("ann", i))
		}

		last := maxDoneRuns + 100
		if what == "large" {
			last = 100
		}

		for i := range last {
			finish("bob", fmt.Sprint("bob", i))
		}

		for i := range 3 {
			if r.Get("ann", fmt.Sprint("ann", i)) == nil {
				t.Errorf("%s of bob's: ann's run %d is forgotten", what, i)
			}
		}

		if r.Get("bob", "bob0") != nil || r.Get("bob", fmt.Sprint("bob", last-1)) == nil {
			t.Errorf("%s of bob's: the oldest is kept, or the newest is not", what)
		}
		if r.done.Len() > maxDoneRuns || r.size > MaxDoneBytes || len(r.all) != r.done.Len() {
			t.Errorf("%s of bob's: %d are kept, %d bytes", what, r.done.Len(), r.size)
		}
	}
}

// newLog makes an event log whose memory is always reserved.
func newLog() *events.Log {
	return events.NewLog(core.LargeResponseMin, func() bool { return true })
}

func TestRegistryForgetsTheOldest(t *testing.T) {
	r := newActiveRuns()
	for i := range maxDoneRuns + 10 {
		a := &activeRun{id: fmt.Sprint(i), owner: "o", Log: newLog()}
		if !r.add(a) {
			t.Fatal("refused")
		}
		a.Log.Put(t.Context(), "result", i)
		r.finished(a)
	}

	if r.Get("o", "9") != nil || r.Get("o", "10") == nil || r.Get("other", "10") != nil || r.done.Len() != maxDoneRuns {
		t.Errorf("%d are kept", r.done.Len())
	}

	big := &activeRun{id: "big", Log: newLog()}
	r.add(big)
	for range 40 {
		a := &activeRun{id: core.NewID(), Log: newLog()}
		r.add(a)
		a.Log.Put(t.Context(), "stdout", strings.Repeat("x", events.MaxSize-10))
		r.finished(a)
	}

	if r.size > MaxDoneBytes {
		t.Errorf("%d bytes are kept", r.size)
	}
	if r.all["big"] != big {
		t.Error("one that is not done is forgotten")
	}

	for range maxActiveRuns - 1 {
		r.add(&activeRun{id: core.NewID(), Log: newLog()})
	}

	if r.add(&activeRun{id: "more"}) {
		t.Error("there is no bound on runs under way")
	}
}
