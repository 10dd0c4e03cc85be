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

// A report is what was measured, as rows of Markdown.
type report struct {
	intro string
	rows  []string
	bad   int
}

func (r *report) head(h api.Health) {
	r.intro = fmt.Sprintf("Linux %s, cgroups %s, %d processors, %d slots, brig %s.", h.Kernel, h.CgroupMode, goruntime.NumCPU(), h.Slots, h.Version)
}

// row notes a measurement, and whether it meets its target.
func (r *report) row(what, target, measured string, met bool) {
	outcome := "met"
	switch {
	case !met:
		outcome = "missed"
		r.bad++
	case target == "-": // told, not judged
		outcome = ""
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |", what, target, measured, outcome)
	fmt.Fprintln(os.Stderr, row)
	r.rows = append(r.rows, row)
}

// notes say what the figures hold that is not the program's.
const notes = `
A program that ends at once is charged what the run itself does between joining its groups
and its program: its cgroup namespace, its ids, the last part of the filter, execve below
both parts. It is the same for every run, some 0.3 ms here, and is not taken off the figure,
because nobody could say of a given run how much of it there was.
`

func (r *report) text() string {
	return r.intro + "\n\n| | target | measured | |\n|---|---|---|---|\n" + strings.Join(r.rows, "\n") + "\n" + notes
}

func (r *report) print() (missed int) {
	fmt.Print(r.text())
	return r.bad
}

const doc = `# Truth

Written by ` + "`sudo make truth WRITE=1`" + `, never by hand. Programs that know what they use
(truth/c) run in the sandbox; this is what brig says of them beside the truth. Deviations
are the worst of the runs of a row unless it says otherwise; "2x overload" means two
burners a processor outside brig meanwhile; "evicted" means that every file of the image
was thrown out of the page cache before the run, as far as the kernel does.

`

func (r *report) write(name string) error {
	return os.WriteFile(name, []byte(doc+r.text()), 0o644)
}

// near says how far got is from want, and whether that is within a share of want or
// an absolute distance.
func near(got, want float64, share, most float64) (off float64, ok bool) {
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
