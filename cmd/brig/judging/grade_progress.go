package judging

import (
	"fmt"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/judge/problem"
)

// A gradeProgress shows on stderr how many tests have ended, how fast, and how long the others will
// take: on a terminal in one line every second, elsewhere in a line every ten seconds.
type gradeProgress struct {
	what               string // one of the submissions is: submission, or jury run
	submissions, tests int    // of all
	began              time.Time
	lines              *cli.Progress // nil: quiet

	mu     sync.Mutex
	judged int // submissions; guarded by mu
	ended  int // tests, and those that will not run; guarded by mu
}

// runProgress shows how far runs are, each of which is what.
func runProgress(c *cli.CLI, quiet bool, what string) verify.Progress {
	return func(runs, tests int) (begin func(int) (test, ended func()), end func()) {
		p := &gradeProgress{what: what, submissions: runs, tests: tests, began: time.Now()}
		if !quiet {
			p.lines = c.Progress("grade")
		}
		return p.submission, p.end
	}
}

// submission begins to count a submission. What it returns is called by one goroutine: test when a test has ended, and
// ended when no others will run.
func (p *gradeProgress) submission(tests int) (test, ended func()) {
	left := tests
	test = func() {
		if left > 0 {
			left--
			p.add(1, 0)
		}
	}
	return test, func() { p.add(left, 1) }
}

func (p *gradeProgress) add(tests, submissions int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended += tests
	p.judged += submissions
	if p.lines == nil {
		return
	}
	text := fmt.Sprintf("%d of %s", p.judged, problem.Count(p.submissions, p.what))
	if p.tests > 0 { // the cases of a suite are not known
		text = pace(p.ended, p.tests, "test", time.Since(p.began)) + ", " + text
	}
	p.lines.SetStep(text)
}

// pace says how many of all units have ended after a time, how fast, and when the others will have.
func pace(ended, all int, unit string, after time.Duration) string {
	text := fmt.Sprintf("%d of %s", ended, problem.Count(all, unit))
	if ended == 0 || after <= 0 || ended >= all {
		return text
	}
	rate := float64(ended) / after.Seconds()
	left := time.Duration(float64(all-ended) / rate * float64(time.Second))
	return fmt.Sprintf("%s, %.1f/s, %s left", text, rate, left.Round(time.Second))
}

func (p *gradeProgress) end() {
	if p.lines != nil {
		p.lines.Vanish()
	}
}
