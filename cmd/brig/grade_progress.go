package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/judge/problem"
)

// A gradeProgress shows on stderr how many tests have ended, how fast, and how long the others will
// take: on a terminal in one line every second, elsewhere in a line every ten seconds.
type gradeProgress struct {
	what               string // one of the submissions is: submission, or jury run
	submissions, tests int    // of all
	began              time.Time
	lines              *progress // nil: quiet

	mu     sync.Mutex
	judged int // submissions; guarded by mu
	ended  int // tests, and those that will not run; guarded by mu
}

func (c *cli) gradeProgress(quiet bool, what string, submissions, tests int) *gradeProgress {
	p := &gradeProgress{what: what, submissions: submissions, tests: tests, began: time.Now()}
	if !quiet {
		p.lines = c.progress("grade")
	}
	return p
}

// A submissionProgress counts the tests of one submission.
type submissionProgress struct {
	of   *gradeProgress
	left int
}

// submission begins to count a submission. Its methods are called by one goroutine.
func (p *gradeProgress) submission(tests int) *submissionProgress {
	return &submissionProgress{p, tests}
}

// test counts a test that has ended.
func (s *submissionProgress) test() {
	if s.left > 0 {
		s.left--
		s.of.add(1, 0)
	}
}

// end counts the tests that will not run, and the submission.
func (s *submissionProgress) end() { s.of.add(s.left, 1) }

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
	p.lines.setStep(text)
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
		p.lines.vanish()
	}
}
