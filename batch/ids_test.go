package batch

import (
	"hash/maphash"
	"strconv"
	"testing"
)

func TestIDs(t *testing.T) {
	const n = 300_000
	var s ids
	seed := maphash.MakeSeed()
	for again := range 2 {
		for i := range n {
			if isNew := s.add(maphash.String(seed, strconv.Itoa(i))); isNew != (again == 0) {
				t.Fatalf("id %d is new: %v, in round %d", i, isNew, again)
			}
		}
	}

	if !s.add(0) || s.add(0) {
		t.Error("the hash 0 is there before it was added, or not after")
	}

	places := 0
	for _, p := range s.parts {
		places += len(p.places)
	}

	if per := float64(8*places) / n; per > 12 {
		t.Errorf("an id takes %.1f bytes, want at most 12", per)
	}
}
