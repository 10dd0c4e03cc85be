package runtime

import "testing"

func TestCapacityFollowsTheLimitOnOpenFiles(t *testing.T) {
	for _, tt := range []struct {
		limit uint64
		slots int
		want  capacity
		ok    bool
	}{
		{1 << 20, 2, capacity{keepers: maxKeepers}, true},
		{4096, 2, capacity{keepers: maxKeepers}, true},
		{20000, 64, capacity{keepers: 4}, true},
		{20000, 200, capacity{keepers: 1}, true},
		{20000, 450, capacity{keepers: 1, singleLeaf: true}, true},
		{20000, 4096, capacity{}, false},
		{256, 1, capacity{}, false},
	} {
		if got, ok := capacityFor(tt.limit, tt.slots); got != tt.want || ok != tt.ok {
			t.Errorf("%d files for %d slots: %+v, %v; want %+v, %v", tt.limit, tt.slots, got, ok, tt.want, tt.ok)
		}
	}
}
