package runtime

import (
	"testing"

	"github.com/brig-sandbox/brig/runtime/pool"
)

func TestCapacityFollowsTheLimitOnOpenFiles(t *testing.T) {
	for _, tt := range []struct {
		limit uint64
		slots int
		want  pool.Capacity
		ok    bool
	}{
		{1 << 20, 2, pool.Capacity{Keepers: pool.MaxKeepers}, true},
		{4096, 2, pool.Capacity{Keepers: pool.MaxKeepers}, true},
		{20000, 64, pool.Capacity{Keepers: 3}, true},
		{20000, 200, pool.Capacity{Keepers: 1}, true},
		{20000, 390, pool.Capacity{Keepers: 1, SingleLeaf: true}, true},
		{20000, 4096, pool.Capacity{}, false},
		{256, 1, pool.Capacity{}, false},
	} {
		if got, ok := capacityFor(tt.limit, tt.slots); got != tt.want || ok != tt.ok {
			t.Errorf("%d files for %d slots: %+v, %v; want %+v, %v", tt.limit, tt.slots, got, ok, tt.want, tt.ok)
		}
	}
}

// The files that slots leave are the sessions', and then the residents'.
func TestSessionsFollowTheLimitOnOpenFiles(t *testing.T) {
	const many = 1 << 20
	for _, tt := range []struct {
		left, slots, sessions, residents int64
		want                             pool.Capacity
	}{
		{many, 2, 1000, 256, pool.Capacity{Sessions: 1000, SessionFiles: 11000, Residents: 256}},
		{17136, 2, 1000, 256, pool.Capacity{Sessions: 995, SessionFiles: 5, Residents: 0}}, // of 20,000 with 2 slots
		{17136, 2, 16, 256, pool.Capacity{Sessions: 16, SessionFiles: 176, Residents: 256}},
		{640, 200, 16, 256, pool.Capacity{Sessions: 3, SessionFiles: 33, Residents: 2}}, // not a file for each slot
		{100, 2, 16, 256, pool.Capacity{}},
		{-5, 2, 16, 256, pool.Capacity{}},
		{many, 2, 0, 0, pool.Capacity{}},
	} {
		var got pool.Capacity
		divideFiles(&got, tt.left, tt.slots, tt.sessions, tt.residents)
		if got != tt.want {
			t.Errorf("%d files, %d slots, %d sessions, %d residents: %+v; want %+v", tt.left, tt.slots, tt.sessions, tt.residents, got, tt.want)
		}
	}
}
