// Package doctor reports whether this host can run untrusted programs: what works, what is
// refused, and how to fix it.
//
// Gather probes the kernel by trying each feature, never by its version, and leaves nothing
// behind. Judge turns the facts into checks and has no side effects.
package doctor

import (
	"fmt"
	"io"
	"strings"
)

// A Status is the outcome of a check.
type Status string

// The statuses, worst last. Only Fail means that a run could not be trusted.
const (
	OK   Status = "ok"
	Warn Status = "warn" // something is refused, or a measurement is less exact
	Fail Status = "fail" // no run, or none that could be trusted
)

// A Check is the result of examining one property of the host.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Why    string `json:"why,omitempty"`  // why it matters; empty when the status is ok
	Remedy string `json:"cure,omitempty"` // what to do about it
}

// A Report lists all checks, in a fixed order.
type Report struct {
	Trusted bool     `json:"trusted"`           // no check failed, and none is unknown
	Unknown []string `json:"unasked,omitempty"` // checks only root can make
	Checks  []Check  `json:"checks"`
}

// Write prints the report as a table with a last line that sums it up.
func (r Report) Write(w io.Writer) error {
	width := 0
	for _, c := range r.Checks {
		width = max(width, len(c.Name))
	}

	var b strings.Builder
	count := map[Status]int{}
	for _, c := range r.Checks {
		count[c.Status]++
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", c.Status, width, c.Name, c.Found)
		for _, line := range []struct{ word, text string }{{"why", c.Why}, {"fix", c.Remedy}} {
			if line.text != "" {
				fmt.Fprintf(&b, "%*s  %s: %s\n", 6+width, "", line.word, line.text)
			}
		}
	}

	verdict := "runs on this host can be trusted"
	if !r.Trusted {
		verdict = "runs on this host cannot be trusted"
	}
	if !r.Trusted && count[Fail] == 0 {
		verdict = "it is not known whether runs on this host can be trusted; only root can check " +
			strings.Join(r.Unknown, ", ") + " (sudo brig doctor)"
	}

	fmt.Fprintf(&b, "\n%s: %d ok, %d warn, %d fail\n", verdict, count[OK], count[Warn], count[Fail])
	_, err := io.WriteString(w, b.String())
	return err
}
