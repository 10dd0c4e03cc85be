// Package judge decides what the outcome of a run means: the verdict, the limits that the program
// met, and whether its output is the expected one. Its functions are pure. Package api has the
// words for what they decide.
package judge

import "github.com/brig-sandbox/brig/api"

// Evidence is all that brig saw of a run and that matters for its verdict.
type Evidence = api.Evidence

// Verdict turns evidence into a verdict.
func Verdict(e Evidence, l api.Limits) api.Verdict { return api.Judge(e, l) }

// LimitsHit lists every limit that the program met.
func LimitsHit(e Evidence, l api.Limits) []string { return api.LimitsHit(e, l) }

// Accepts reports whether got matches expected. If it does not, difference describes the first
// difference in one line.
func Accepts(c api.Compare, expected, got []byte) (ok bool, difference string) {
	return c.Accepts(expected, got)
}
