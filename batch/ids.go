package batch

// ids is a set of the ids of jobs, as hashes of 64 bits that are as good as random. It is the one thing of a batch that
// grows with its jobs: by ten bytes each, where a map takes up to forty.
type ids struct{ parts [256]idTable }

// An idTable is a hash table with linear probing. A free place is zero.
type idTable struct {
	places []uint64
	used   int
}

// add adds a hash, and reports whether it was not there. That two ids of a million have the same hash has a chance
// of 1 in 30 million.
func (s *ids) add(hash uint64) bool {
	t := &s.parts[hash>>56]
	if 10*(t.used+1) > 9*len(t.places) {
		t.grow()
	}
	return t.insert(max(hash, 1))
}

// grow makes room for a quarter more, so that few places are free at any time.
func (t *idTable) grow() {
	old := t.places
	*t = idTable{places: make([]uint64, len(old)+len(old)/4+16)}
	for _, h := range old {
		if h != 0 {
			t.insert(h)
		}
	}
}

func (t *idTable) insert(hash uint64) bool {
	n := uint64(len(t.places))
	for i := uint64(uint32(hash)) * n >> 32; ; i = (i + 1) % n { //nolint:gosec // the lower half, on purpose
		switch t.places[i] {
		case hash:
			return false
		case 0:
			t.places[i] = hash
			t.used++
			return true
		}
	}
}
