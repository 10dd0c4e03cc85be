package main

import (
	"fmt"
	"slices"
	"time"
)

// A sample holds the latencies of one measurement and its total duration.
type sample struct {
	took []time.Duration
	wall time.Duration
}

// rate is runs per second.
func (s sample) rate() float64 { return float64(len(s.took)) / s.wall.Seconds() }

// quantile of the latencies, by nearest rank.
func (s sample) quantile(q float64) time.Duration {
	if len(s.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.took))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// median returns the median of v.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// A row holds the measurements of one kind over all rounds.
type row struct {
	name          string
	p50, p90, p99 []float64 // microseconds, one per round
	rates         []float64
	runs          int
}

func (r *row) add(s sample) {
	us := func(q float64) float64 { return float64(s.quantile(q)) / 1e3 }
	r.p50, r.p90, r.p99 = append(r.p50, us(.5)), append(r.p90, us(.9)), append(r.p99, us(.99))
	r.rates = append(r.rates, s.rate())
	r.runs += len(s.took)
}

// line formats the row of a table: the medians, and the medians of the ratios to base,
// taken round by round.
func (r *row) line(base *row) string {
	s := fmt.Sprintf("| %s | %d | %.2f | %.2f | %.2f | %.0f |", r.name, r.runs, median(r.p50)/1e3, median(r.p90)/1e3,
		median(r.p99)/1e3, median(r.rates))
	if base == nil {
		return s + " | | |"
	}
	return s + fmt.Sprintf(" %.2fx | %.2fx | %.0f %% |", median(ratios(r.p50, base.p50)), median(ratios(r.p99, base.p99)),
		100*median(ratios(r.rates, base.rates)))
}

func differences(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, a[i]-b[i])
	}
	return out
}

func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, a[i]/b[i])
	}
	return out
}
