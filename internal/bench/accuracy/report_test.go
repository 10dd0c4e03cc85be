package main

import (
	"testing"
	"time"
)

func TestToleranceTakesTheWiderBound(t *testing.T) {
	for _, tt := range []struct {
		got, want, share, maximum float64
		ok                        bool
	}{
		{100, 100, 0.01, 2, true}, {102, 100, 0.01, 2, true}, {103, 100, 0.01, 2, false}, {97, 100, 0.01, 2, false},
		{1009, 1000, 0.01, 2, true}, {1011, 1000, 0.01, 2, false},
	} {
		if off, ok := withinTolerance(tt.got, tt.want, tt.share, tt.maximum); ok != tt.ok || off != tt.got-tt.want {
			t.Errorf("near(%v, %v): %v, %v; want %v", tt.got, tt.want, off, ok, tt.ok)
		}
	}
}

func TestQuantilesAndDeviation(t *testing.T) {
	var v []time.Duration
	for i := range 100 {
		v = append(v, time.Duration(99-i))
	}

	if q := quantile(v, .5); q != 50 {
		t.Errorf("median %d; want 50", q)
	}
	if q := quantile(v, .99); q != 99 {
		t.Errorf("p99 %d; want 99", q)
	}
	if q := quantile(nil, .5); q != 0 {
		t.Errorf("of nothing: %d", q)
	}
	if d := deviation([]time.Duration{2, 4, 4, 4, 5, 5, 7, 9}); d != 2 {
		t.Errorf("deviation %d; want 2", d)
	}
}
