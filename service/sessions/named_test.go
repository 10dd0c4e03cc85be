package sessions

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestSessionsAreNamed(t *testing.T) {
	b, _, err := openRegistry("")
	if err != nil {
		t.Fatal(err)
	}
	add := func(id, owner, project, task string) {
		e := sessionEntry{owner: owner, labels: api.Labels{Project: project, Task: task}}
		if _, _, err := b.reserve(reservationPrefix+id, e, func(_, _ sessionUsage) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if id[0] == 'r' { // is still being created
			return
		}
		if err := b.commit(reservationPrefix+id, id, 0); err != nil {
			t.Fatal(err)
		}
	}
	add("s1", "ann", "course", "one")
	add("s2", "ann", "course", "s1") // its task is the id of another one
	add("s3", "ann", "other", "one")
	add("s4", "bob", "course", "one")
	add("s5", "ann", "", "")
	add("r6", "ann", "course", "six")

	for _, tt := range []struct{ owner, project, name, id string }{
		{"ann", "", "s1", "s1"}, {"ann", "course", "s1", "s1"}, {"ann", "course", "one", "s1"}, {"ann", "other", "one", "s3"},
		{"bob", "course", "one", "s4"}, {"ann", "", "s5", "s5"},
		{"ann", "", "one", ""}, {"ann", "other", "s1", ""}, {"ann", "", "s4", ""}, {"ann", "course", "s4", ""},
		{"bob", "other", "one", ""}, {"ann", "course", "six", ""}, {"ann", "course", "", ""}, {"ann", "", "", ""},
		{"ann", "course", reservationPrefix + "r6", ""},
	} {
		_, id, err := b.named(tt.owner, tt.project, tt.name)
		if id != tt.id || (err == nil) != (tt.id != "") {
			t.Errorf("%+v: %q, %v", tt, id, err)
		}
	}
	for project, want := range map[string][]string{"": {"s1", "s2", "s3", "s5"}, "course": {"s1", "s2"}, "none": nil} {
		if got := b.ofProject("ann", project); !slices.Equal(got, want) {
			t.Errorf("project %q: %q; want %q", project, got, want)
		}
	}
}
