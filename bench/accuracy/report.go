package main

import (
	"fmt"
	"math"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A report holds the measurements, as rows of Markdown.
type report struct {
	intro string
	rows  []string
	bad   int
}

func (r *report) setHeader(h api.Health) {
	r.intro = fmt.Sprintf("Linux %s, cgroups %s, %d processors, %d slots, brig %s.", h.Kernel, h.CgroupMode, goruntime.NumCPU(), h.Slots, h.Version)
}

// row adds a measurement, and whether it meets its target.
func (r *report) row(what, target, measured string, met bool) {
	outcome := "met"
	switch {
	case !met:
		outcome = "missed"
		r.bad++
	case target == "-": // reported without a target
		outcome = ""
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |", what, target, measured, outcome)
	fmt.Fprintln(os.Stderr, row)
	r.rows = append(r.rows, row)
}

// notes explain which part of the measurements is not caused by the program.
const notes = `
A program that exits immediately is also charged for the work of the run itself between
joining its groups and the program: its cgroup namespace, its ids, the last part of the
filter, and execve under both parts of the filter. It is the same for every run, some 0.3 ms
here, and is not subtracted, because its share of a given run is unknown.
`

func (r *report) text() string {
	return r.intro + "\n\n| | target | measured | |\n|---|---|---|---|\n" + strings.Join(r.rows, "\n") + "\n" + notes
}

func (r *report) print() (missed int) {
	fmt.Print(r.text())
	return r.bad
}

const doc = `# Accuracy of measurements and verdicts

Written by ` + "`sudo make truth WRITE=1`" + `; do not edit. Programs that know what they use (bench/accuracy/c)
run in the sandbox; the table compares brig's measurements with the known values. Deviations
are the worst of the runs of a row unless stated otherwise; "2x overload" means two burners
per processor outside brig at the same time; "evicted" means that every file of the image
was evicted from the page cache before the run, as far as the kernel does it.

`

func (r *report) write(name string) error {
	return os.WriteFile(name, []byte(doc+r.text()), 0o644)
}

// withinTolerance returns the difference of got and want, and whether it is within a share of want or
// an absolute distance.
func withinTolerance(got, want float64, share, most float64) (off float64, ok bool) {
	off = got - want
	return off, math.Abs(off) <= max(share*want, most)
}

func quantile(v []time.Duration, q float64) time.Duration {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// deviation is the standard deviation.
func deviation(v []time.Duration) time.Duration {
	var sum, squares float64
	for _, d := range v {
		sum += float64(d)
	}
	mean := sum / float64(len(v))
	for _, d := range v {
		squares += (float64(d) - mean) * (float64(d) - mean)
	}
	return time.Duration(math.Sqrt(squares / float64(len(v))))
}
