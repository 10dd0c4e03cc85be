package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/internal/docblock"
)

// addLine adds a line to the report and prints it.
func (b *bench) addLine(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Println(line)
	b.report = append(b.report, line)
}

// table reports the rows of all rounds.
func (b *bench) table() {
	b.addLine("| | runs | p50 ms | p90 ms | p99 ms | runs/s | p50 | p99 | rate |")
	b.addLine("|---|---|---|---|---|---|---|---|---|")
	for i, r := range b.rows {
		b.addLine("%s", r.line(b.bases[i]))
	}

	b.addLine("")
	b.addLine("Ratios are relative to the plain spawn of the same round; medians over all rounds.")
	if b.counted > 0 {
		n := time.Duration(b.counted)
		b.addLine("Processor time per run with 2 clients: agent %s, cells and programs %s.",
			(b.agentCPU / n).Round(time.Microsecond), (b.cellCPU / n).Round(time.Microsecond))
	}

	b.addLine("")
	p50 := func(i int) float64 { return median(ratios(b.rows[i].p50, b.bases[i].p50)) }
	b.atMost("p50, strict, 1 client, relative to the plain spawn", p50(1), 1.75, "x")
	b.atLeast("rate with 2 clients, relative to the plain spawn",
		100*median(ratios(b.rows[3].rates, b.bases[3].rates)), 45, "%")
	b.atMost("p99 of runs 10 ms apart, relative to the plain spawn", median(ratios(b.rows[6].p99, b.bases[6].p99)), 3, "x")
	b.atMost("fresh, back to back, p50", median(b.rows[7].p50)/1e3, 15, "ms")
	b.atMost("fresh, 50 ms apart, p50", median(b.rows[8].p50)/1e3, 30, "ms")
}

// A measurement is a measured value with its target.
type measurement struct {
	name          string
	value, target float64
	unit          string
	atLeast       bool // the target is a lower bound
}

func (f measurement) met() bool { return (f.value <= f.target) != f.atLeast || f.value == f.target }

// atMost records a value that should be at most target. The function after it records one that
// should be at least target.
func (b *bench) atMost(name string, value, target float64, unit string) {
	b.measurements = append(b.measurements, measurement{name: name, value: value, target: target, unit: unit})
}

func (b *bench) atLeast(name string, value, target float64, unit string) {
	b.measurements = append(b.measurements,
		measurement{name: name, value: value, target: target, unit: unit, atLeast: true})
}

// targets reports every value with its target. A missed target is marked in the table and
// is no failure: these machines are shared.
func (b *bench) targets() {
	b.addLine("")
	b.addLine("| | target | measured | |")
	b.addLine("|---|---|---|---|")
	for _, f := range b.measurements {
		bound, outcome := "at most", "missed"
		if f.atLeast {
			bound = "at least"
		}
		if f.met() {
			outcome = "met"
		}
		b.addLine("| %s | %s %g %s | %.2f %s | %s |", f.name, bound, f.target, f.unit, f.value, f.unit, outcome)
	}
}

// The lines around the measured block of a document.
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
