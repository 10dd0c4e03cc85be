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
		{20000, 400, pool.Capacity{Keepers: 1, SingleLeaf: true}, true},
		{20000, 4096, pool.Capacity{}, false},
		{256, 1, pool.Capacity{}, false},
	} {
		if got, ok := capacityFor(tt.limit, tt.slots); got != tt.want || ok != tt.ok {
			t.Errorf("%d files for %d slots: %+v, %v; want %+v, %v", tt.limit, tt.slots, got, ok, tt.want, tt.ok)
		}
	}
}
