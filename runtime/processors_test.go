package runtime

import (
	"slices"
	"testing"
)

func TestSlotsHaveSeparateCores(t *testing.T) {
	for _, tt := range []struct {
		cores []int
		slots int
		want  [][]int
	}{
		{[]int{0}, 1, [][]int{{0}}},
		{[]int{0, 1}, 2, [][]int{{0}, {1}}},
		{[]int{0, 2, 4, 6}, 2, [][]int{{0, 2}, {4, 6}}},
		{[]int{0, 1, 2, 3, 4}, 2, [][]int{{0, 1}, {2, 3}}},
		{[]int{3, 5}, 3, [][]int{{3}, {5}, {3}}},
	} {
		for i, want := range tt.want {
			if got := slotCores(tt.cores, i, tt.slots); !slices.Equal(got, want) {
				t.Errorf("slot %d of %d on %v has %v; want %v", i, tt.slots, tt.cores, got, want)
			}
		}
	}
}
