package main

import "testing"

func TestFiguresKnowTheirBound(t *testing.T) {
	for _, tt := range []struct {
		f    figure
		want bool
	}{
		{figure{value: 2, target: 3}, true}, {figure{value: 4, target: 3}, false}, {figure{value: 0, target: 0}, true},
		{figure{value: 34, target: 33, atLeast: true}, true}, {figure{value: 32, target: 33, atLeast: true}, false},
		{figure{value: 500, target: 500, atLeast: true}, true},
	} {
		if tt.f.met() != tt.want {
			t.Errorf("%+v met: %v", tt.f, !tt.want)
		}
	}
}
