package main

import (
	"fmt"
	"slices"
	"strings"
)

// A report has the measured values with their targets.
type report struct{ lines []string }

func (r *report) text() string {
	return "| | target | measured | |\n|---|---|---|---|\n" + strings.Join(r.lines, "\n")
}

func (r *report) add(name string, target string, met bool, format string, args ...any) {
	outcome := "missed"
	if met {
		outcome = "met"
	}
	if target == "-" {
		outcome = ""
	}
	line := fmt.Sprintf("| %s | %s | %s | %s |", name, target, fmt.Sprintf(format, args...), outcome)
	fmt.Println(line)
	r.lines = append(r.lines, line)
}

// median returns the median of v.
func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s) == 0 {
		return 0
	}
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
