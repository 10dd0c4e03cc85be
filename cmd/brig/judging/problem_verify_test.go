package judging

import "testing"

func TestTimes(t *testing.T) {
	for factor, want := range map[float64]string{1: "1", 2.146: "2.15", 13.21: "13.2", 99.99: "100", 832.4: "832",
		1951.3: "1951", 2e6: "2000000"} {
		if got := times(factor); got != want {
			t.Errorf("%v: %s; want %s", factor, got, want)
		}
	}
}
