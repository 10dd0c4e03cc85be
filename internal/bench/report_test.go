package main

import "testing"

func TestMeasurementsKnowTheirBound(t *testing.T) {
	for _, tt := range []struct {
		f    measurement
		want bool
	}{
		{measurement{value: 2, target: 3}, true}, {measurement{value: 4, target: 3}, false}, {measurement{value: 0, target: 0}, true},
		{measurement{value: 34, target: 33, atLeast: true}, true}, {measurement{value: 32, target: 33, atLeast: true}, false},
		{measurement{value: 500, target: 500, atLeast: true}, true},
	} {
		if tt.f.met() != tt.want {
			t.Errorf("%+v met: %v", tt.f, !tt.want)
		}
	}
}
