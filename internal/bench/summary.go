package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/internal/docblock"
)

const (
	summaryBegin = "<!-- summary: written by make bench WRITE=1 -->"
	summaryEnd   = "<!-- end of summary -->"
)

// Names of figures that are shown twice.
const (
	pythonTemplate = "python hello from a template, p50, relative to the bare interpreter"
	gatewayMore    = "time that the gateway adds to the agent's socket, p50"
	firstResult    = "agent start to first result"
	agentMemory    = "memory of the agent after all rounds"
)

// headlines are the figures that the README shows, each with its text there.
var headlines = []struct{ figure, text string }{
	{pythonTemplate, "a hello of Python from request to result, relative to the bare interpreter, p50"},
	{gatewayMore, "time added to a request over HTTP instead of the agent's socket, p50"},
	{firstResult, "from the start of the agent to its first result"},
	{agentMemory, "memory of the agent after %d runs, resident"},
}

// summary is the short form of the report: what each sandbox costs, and the headlines.
func (b *bench) summary() (string, error) {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\n\n", b.report[0])
	fmt.Fprintf(&s, "| `%s`, one client | p50 | relative to the plain spawn |\n|---|---|---|\n", b.cfg.program)
	for i, r := range b.rows {
		if i != 0 && b.bases[i] != b.rows[0] || strings.Contains(r.name, "live output") {
			continue
		}
		fmt.Fprintf(&s, "| %s | %.2f ms | ", r.name, median(r.p50)/1e3)
		if i == 0 {
			s.WriteString("1x |\n")
			continue
		}
		fmt.Fprintf(&s, "%.1fx |\n", median(ratios(r.p50, b.rows[0].p50)))
	}

	s.WriteString("\n| | measured |\n|---|---|\n")
	const strictTwo = 3 // its row: see measures
	two := b.rows[strictTwo]
	fmt.Fprintf(&s, "| runs per second, two clients on two processors | %.0f (%.0f %% of plain spawns) |\n",
		median(two.rates), 100*median(ratios(two.rates, b.bases[strictTwo].rates)))

	for _, h := range headlines {
		i := slices.IndexFunc(b.measurements, func(f measurement) bool { return f.name == h.figure })
		if i < 0 {
			return "", fmt.Errorf("%q was not measured: do not skip a part of the bench (--hellos, --crowd)", h.figure)
		}
		f := b.measurements[i]
		text := h.text
		if strings.Contains(text, "%d") {
			text = fmt.Sprintf(text, b.runs())
		}
		fmt.Fprintf(&s, "| %s | %.*f %s |\n", text, digits(f.value), f.value, strings.TrimSuffix(f.unit, " resident"))
	}

	return strings.TrimSuffix(s.String(), "\n"), nil
}

// digits is how many digits behind the point a headline needs.
func digits(v float64) int {
	if v < 1 {
		return 2
	}
	return 1
}

// runs is how many programs the agent has executed in the rounds.
func (b *bench) runs() (n int) {
	for i, r := range b.rows {
		if b.bases[i] != nil && strings.HasPrefix(r.name, "brig ") {
			n += r.runs
		}
	}
	return n
}

// writeSummaries replaces the summary of each file.
func (b *bench) writeSummaries(files []string) error {
	for _, name := range files {
		text, err := b.summary()
		if err != nil {
			return err
		}
		if err := docblock.Replace(name, summaryBegin, summaryEnd, text); err != nil {
			return err
		}
	}
	return nil
}
