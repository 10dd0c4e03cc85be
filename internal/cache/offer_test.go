package cache

import (
	"strings"
	"testing"
)

// What is offered evicts nothing, and is evicted before all else until somebody uses it.
func TestOffer(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, 4*minCost)
	put := func(content string) string {
		t.Helper()
		name := digest(content)
		if err := c.PutBlob(name, name, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	offer := func(content string) (name string, kept bool) {
		t.Helper()
		name = digest(content)
		kept, err := c.Offer(name, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		return name, kept
	}

	first, second := put("1"), put("2")
	used, is := offer("3")
	_, too := offer("4")
	if got, err := c.Get(used); !is || !too || err != nil || string(got) != "3" {
		t.Fatalf("with room: %v and %v, %q, %v", is, too, got, err)
	}
	if name, is := offer("5"); is || c.Has(name) {
		t.Error("without room, it is kept")
	}
	if _, is := offer("4"); !is {
		t.Error("what is there already is not kept without room")
	}
	for _, name := range []string{first, second, used} {
		if !c.Has(name) {
			t.Errorf("%s was evicted by an offer", name)
		}
	}

	c = open(t, t.TempDir(), 4*minCost)
	first, second = put("1"), put("2")
	used, _ = offer("3")
	idle, _ := offer("4")
	if !c.Has(used) {
		t.Fatal("what was offered is not there")
	}
	third := put("6") // makes room for a tenth more
	for name, want := range map[string]bool{idle: false, used: true, second: true, third: true} {
		if c.Has(name) != want {
			t.Errorf("%s: is there %v; want %v", name, !want, want)
		}
	}
	_ = first // the oldest of the others: whether it is there is not told

	if _, err := c.Offer("../x", nil); err == nil {
		t.Error("a name that is none is accepted")
	}
}
