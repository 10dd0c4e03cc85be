package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// A key's finished runs are not dropped because another key has many.
func TestDoneRunsOfOthersStay(t *testing.T) {
	for what, event := range map[string]string{"many": "x", "large": strings.Repeat("x", 1<<20)} {
		r := newActiveRuns()
		finish := func(owner, id string) {
			a := &activeRun{id: id, owner: owner, log: newEventLog(func() bool { return true })}
			if !r.add(a) {
				t.Fatal("not added")
			}
			a.log.put(t.Context(), "stdout", event)
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
			if r.get("ann", fmt.Sprint("ann", i)) == nil {
				t.Errorf("%s of bob's: ann's run %d is forgotten", what, i)
			}
		}
		if r.get("bob", "bob0") != nil || r.get("bob", fmt.Sprint("bob", last-1)) == nil {
			t.Errorf("%s of bob's: the oldest is kept, or the newest is not", what)
		}
		if r.done.Len() > maxDoneRuns || r.size > maxDoneBytes || len(r.all) != r.done.Len() {
			t.Errorf("%s of bob's: %d are kept, %d bytes", what, r.done.Len(), r.size)
		}
	}
}
