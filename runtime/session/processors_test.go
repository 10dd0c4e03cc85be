package session

import "testing"

// However many sessions there may be, the processes that they leave running have half a run's
// weight together, as far as the kernel's minimum weight permits.
func TestLeftoverWeight(t *testing.T) {
	for _, tt := range []struct {
		Registry int
		want     int64
	}{{0, 64}, {1, 64}, {8, 64}, {16, 32}, {256, 2}, {1024, 2}} {
		if got := leftoverWeight(tt.Registry); got != tt.want {
			t.Errorf("of %d sessions: %d; want %d", tt.Registry, got, tt.want)
		}
	}
}
