package gateway

import (
	"fmt"
	"strings"
	"testing"
)

// What a key has done does not go because another does much.
func TestDoneRunsOfOthersStay(t *testing.T) {
	for what, event := range map[string]string{"many": "x", "large": strings.Repeat("x", 1<<20)} {
		r := newRegistry()
		finish := func(owner, id string) {
			a := &active{id: id, owner: owner, feed: newFeed(func() bool { return true })}
			if !r.add(a) {
				t.Fatal("not added")
			}
			a.feed.put(t.Context(), "stdout", event)
			r.finished(a)
		}
		for i := range 3 {
			finish("ann", fmt.Sprint("ann", i))
		}
		last := doneRuns + 100
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
			t.Errorf("%s of bob's: his oldest is kept, or his newest is not", what)
		}
		if r.done.Len() > doneRuns || r.size > doneBytes || len(r.all) != r.done.Len() {
			t.Errorf("%s of bob's: %d are kept, %d bytes", what, r.done.Len(), r.size)
		}
	}
}
