package operator

import (
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestEachCodeHasAMeaning(t *testing.T) {
	for _, code := range api.Code("").Values() {
		if m := meanings[code]; m.cause == "" || m.cure == "" {
			t.Errorf("%s has no cause or no cure", code)
		}
	}
	if len(meanings) != len(api.Code("").Values()) {
		t.Errorf("%d meanings of %d codes", len(meanings), len(api.Code("").Values()))
	}
}

// What is missing has the command that stores it; what is there has none.
func TestCommandsOfImages(t *testing.T) {
	languages := []api.Language{{Name: "b", Image: "missing", ImageFrom: "registry/x"}, {Name: "a", Image: "there", Stored: true},
		{Name: "c", Image: "old", Stored: true, Lacks: []string{"/usr/lib/x"}}, {Name: "d", Image: "broken", Stored: true}}
	stored := []api.Image{{Digest: "sha256:1", Names: []string{"there"}, Size: 1, Created: "2026-01-02T03:04:05Z"},
		{Digest: "sha256:2", Names: []string{"old"}}, {Digest: "sha256:3", Names: []string{"broken", "x"}}, {Digest: "sha256:4"}}
	command := func(image, from string) string { return image + " from " + from }
	got := imagesOf(languages, stored, []string{"sha256:3"}, true, command)

	var words []string
	for _, i := range got {
		words = append(words, i.Language+"/"+i.Image+"/"+i.Command)
	}
	want := []string{"a/there/", "b/missing/missing from registry/x", "c/old/old from ", "d/broken/broken from ", "/sha256:4/"}
	for i := range want {
		if i >= len(words) || words[i] != want[i] {
			t.Fatalf("%q; want %q", words, want)
		}
	}
	if got[0].Created != time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) || !got[3].Damaged || got[1].Stored || !got[1].Created.IsZero() {
		t.Errorf("%+v", got)
	}
	if few := imagesOf(languages, stored, nil, false, command); len(few) != 4 {
		t.Errorf("a key sees %+v", few)
	}
}

func TestLoadOfTheMachine(t *testing.T) {
	if load := loadOf("/proc/loadavg"); load == nil || *load < 0 {
		t.Errorf("the load is %v", load)
	}
	if load := loadOf("/proc/self/comm"); load != nil {
		t.Errorf("a file without a load has %v", *load)
	}
	if load := loadOf("/nonexistent"); load != nil {
		t.Errorf("no file has %v", *load)
	}
}
