package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/internal/docblock"
)

// say adds a line to the report and prints it.
func (b *bench) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Println(line)
	b.report = append(b.report, line)
}

// table reports the rows of all rounds.
func (b *bench) table() {
	b.say("| | runs | p50 ms | p90 ms | p99 ms | runs/s | p50 | p99 | rate |")
	b.say("|---|---|---|---|---|---|---|---|---|")
	for i, r := range b.rows {
		b.say("%s", r.line(b.bases[i]))
	}
	b.say("")
	b.say("Ratios are to the plain spawn of the same round; medians over the rounds.")
	if b.counted > 0 {
		n := time.Duration(b.counted)
		b.say("Processor time per run with 2 clients: agent %s, cells and programs %s.", (b.agentCPU / n).Round(time.Microsecond), (b.cellCPU / n).Round(time.Microsecond))
	}
	b.say("")
	p50 := func(i int) float64 { return median(ratios(b.rows[i].p50, b.bases[i].p50)) }
	b.want("p50, strict, 1 client, beside the plain spawn", p50(1), 2.25, "x")
	b.least("rate with 2 clients, of the plain rate", 100*median(ratios(b.rows[3].rates, b.bases[3].rates)), 33, "%")
	b.want("p99 of runs 10 ms apart, beside the plain spawn's", median(ratios(b.rows[6].p99, b.bases[6].p99)), 3, "x")
	b.want("fresh, back to back, p50", median(b.rows[7].p50)/1e3, 15, "ms")
	b.want("fresh, 50 ms apart, p50", median(b.rows[8].p50)/1e3, 30, "ms")
}

// A figure is a measured value beside its target.
type figure struct {
	name          string
	value, target float64
	unit          string
	atLeast       bool // the target is a lower bound
}

func (f figure) met() bool { return (f.value <= f.target) != f.atLeast || f.value == f.target }

// want notes a figure that should be at most target, and least one that should be
// at least that.
func (b *bench) want(name string, value, target float64, unit string) {
	b.figures = append(b.figures, figure{name: name, value: value, target: target, unit: unit})
}

func (b *bench) least(name string, value, target float64, unit string) {
	b.figures = append(b.figures, figure{name: name, value: value, target: target, unit: unit, atLeast: true})
}

// targets reports every figure beside its target. A target missed is a line that
// says so, not a failure: these machines are shared.
func (b *bench) targets() {
	b.say("")
	b.say("| | target | measured | |")
	b.say("|---|---|---|---|")
	for _, f := range b.figures {
		bound, outcome := "at most", "missed"
		if f.atLeast {
			bound = "at least"
		}
		if f.met() {
			outcome = "met"
		}
		b.say("| %s | %s %g %s | %.2f %s | %s |", f.name, bound, f.target, f.unit, f.value, f.unit, outcome)
	}
}

// The lines between which a document holds what was measured.
const (
	blockBegin = "<!-- measured: written by make bench WRITE=1 -->"
	blockEnd   = "<!-- end of measured -->"
)

// writeTo replaces the measured block of each file.
func (b *bench) writeTo(files []string) error {
	var err error
	for _, name := range files {
		err = errors.Join(err, docblock.Replace(name, blockBegin, blockEnd, strings.Join(b.report, "\n")))
	}
	return err
}
