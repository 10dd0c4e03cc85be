package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sharesOf makes shares of entries such as "a" or "b:300", an owner and a weight, with the seqs
// 1, 2, 3.
func sharesOf(entries string) (s retention, last int64) {
	s = retention{owners: map[string]ownerUsage{}, before: map[string]ownerUsage{}}
	for _, e := range strings.Fields(entries) {
		owner, weight, _ := strings.Cut(e, ":")
		last++
		n := int64(1)
		fmt.Sscan(weight, &n)
		s.add(owner, entry{last, n})
	}
	return s, last
}

func TestOwnerWithTheMostLosesTheOldest(t *testing.T) {
	const many = 1 << 40
	for _, tt := range []struct {
		name, entries string
		bound         bound
		gone          []int64
	}{
		{"nothing is over", "a a b", bound{3, many}, nil},
		{"one owner: the oldest", "a a a a", bound{2, many}, []int64{1, 2}},
		{"one owner, by weight", "a:5 a:5 a:5", bound{9, 11}, []int64{1}},
		{"a key with few runs keeps them, though they are the oldest", "b b a a a a a", bound{5, many}, []int64{3, 4}},
		{"down to the same, then in turn", "a a a a b b", bound{2, many}, []int64{1, 2, 3, 5}},
		{"of two keys with as many, the one with the oldest run", "b a b a", bound{3, many}, []int64{1}},
		{"the name says nothing", "a b a b", bound{3, many}, []int64{1}},
		{"as soon as it is within the bound", "a:9 a:9 a:9 a:9", bound{9, 18}, []int64{1, 2}},
		{"by weight: not the key with more runs", "a:1 a:1 a:1 b:50 b:50", bound{9, 60}, []int64{4}},
		{"by number: not the key with more weight", "a:1 a:1 a:1 b:50 b:50", bound{4, many}, []int64{1}},
		{"both: by number, and then by weight", "a:1 a:1 a:1 b:50 b:50", bound{4, 60}, []int64{1, 4}},
		{"a large run of a key that has no other stays", "a:10 a:10 a:10 b:90", bound{9, 100}, []int64{1, 2}},
		{"when each has one the oldest goes, whatever it weighs", "a:10 b:90 c:50", bound{9, 100}, []int64{1, 2}},
		{"more owners than are kept", "b a c", bound{2, many}, []int64{1}},
		{"no key is an owner too", ": : a", bound{2, many}, []int64{1}},
	} {
		s, last := sharesOf(tt.entries)
		if gone := s.evict(tt.bound, last+1, 100); !slices.Equal(gone, tt.gone) {
			t.Errorf("%s: %v go; want %v", tt.name, gone, tt.gone)
		}
	}
}

func TestEvictionIsLimited(t *testing.T) {
	s, last := sharesOf("a a a a a a b")
	if gone := s.evict(bound{1, 100}, last+1, 3); !slices.Equal(gone, []int64{1, 2, 3}) {
		t.Errorf("of three at the most: %v", gone)
	}
	if gone := s.evict(bound{1, 100}, 5, 100); !slices.Equal(gone, []int64{4}) {
		t.Errorf("before the fifth: %v", gone)
	}
}

// plain is a copy that shares nothing.
func plain(s retention) (p retention) {
	p = retention{owners: maps.Clone(s.owners), count: s.count, weight: s.weight}
	for owner, of := range p.owners {
		p.owners[owner] = ownerUsage{slices.Clone(of.entries), of.weight}
	}
	return p
}

func TestRetentionInvariants(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		s, last := sharesOf("")
		b := bound{1 + random.Int64N(30), 100 + random.Int64N(2000)}
		owners := 1 + random.IntN(6)
		for range 150 {
			s.begin()
			before, lastBefore := plain(s), last
			for range 1 + random.IntN(4) {
				last++
				s.add(fmt.Sprint(random.IntN(1+random.IntN(owners))), entry{last, 1 + random.Int64N(100)})
			}

			newest := map[string]int64{} // by owner: the seq of its newest entry
			for owner, of := range s.owners {
				newest[owner] = of.entries[len(of.entries)-1].seq
			}

			all := plain(s)
			gone := s.evict(b, last+1, 1000)
			if s.over(b) || len(gone) > 0 && !all.over(b) {
				t.Fatalf("seed %d: %v of %v", seed, gone, b)
			}

			level := len(all.owners) * 1000 // the smallest number of entries at which an owner lost one
			for owner, of := range all.owners {
				left := s.owners[owner].entries
				if !slices.Equal(left, of.entries[len(of.entries)-len(left):]) {
					t.Fatalf("seed %d: of %s stay %v of %v, not the newest", seed, owner, left, of.entries)
				}
				if len(left) < len(of.entries) {
					level = min(level, len(left)+1)
				}
			}

			for owner, of := range s.owners {
				if all.weight <= b.weight && len(of.entries) > level {
					t.Fatalf("seed %d: %s keeps %d, and an owner with %d lost one", seed, owner, len(of.entries), level)
				}
			}

			if slices.Contains(gone, last) {
				t.Fatalf("seed %d: what was added last went", seed)
			}

			for owner, seq := range newest {
				if slices.Contains(gone, seq) &&
					slices.ContainsFunc(slices.Collect(maps.Values(s.owners)), func(of ownerUsage) bool { return len(of.entries) > 1 }) {
					t.Fatalf("seed %d: all of %s went, while another has more", seed, owner)
				}
			}

			if random.IntN(3) == 0 {
				if s.rollback(); !reflect.DeepEqual(plain(s), before) {
					t.Fatalf("seed %d: given back %+v; want %+v", seed, plain(s), before)
				}
				last = lastBefore
			}

			count, weight := int64(0), int64(0)
			for _, of := range s.owners {
				count += int64(len(of.entries))
				for _, e := range of.entries {
					weight += e.weight
				}
			}

			if count != s.count || weight != s.weight {
				t.Fatalf("seed %d: %d of weight %d; want %d of %d", seed, s.count, s.weight, count, weight)
			}
		}
	}
}
