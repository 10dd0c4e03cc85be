package batch

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// A batchProgress shows on stderr how far a batch is.
type batchProgress struct {
	began   time.Time
	before  int64         // results of an earlier run
	lines   *cli.Progress // nil: quiet
	shown   time.Time     // when the text was last made
	counted chan struct{} // closed when the input has been counted; nil: it is not counted

	mu    sync.Mutex
	total int64 // jobs of the input; zero: not known; guarded by mu
}

// newProgress begins to show a batch. Its jobs are counted in a file; nil: they are not.
func newProgress(c *cli.CLI, quiet bool, in *os.File, before int64) *batchProgress {
	p := &batchProgress{began: time.Now(), before: before}
	if quiet {
		return p
	}

	p.lines = c.Progress("batch")
	if in == nil {
		return p
	}
	if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
		p.counted = make(chan struct{})
		go func() { // ends with the file
			defer close(p.counted)
			p.count(in)
		}()
	}

	return p
}

// count counts the jobs of the input.
func (p *batchProgress) count(in *os.File) {
	total := batch.CountJobs(in)
	p.mu.Lock()
	defer p.mu.Unlock()

	p.total = total
}

// jobs is the number of jobs of the input; zero: it is not known.
func (p *batchProgress) jobs() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

// show shows how far the batch is. It is called often, by one goroutine.
func (p *batchProgress) show(s batch.Progress) {
	if p.lines == nil || time.Since(p.shown) < 100*time.Millisecond {
		return
	}

	p.shown = time.Now()
	total := p.jobs()
	if s.AllRead {
		total = s.Read
	}

	text := jobPace(s.Recorded, p.before, total, time.Since(p.began)) + ", " + states(s)
	p.lines.SetCount(text, s.Recorded, total)
}

// states says what became of the jobs.
func states(s batch.Progress) string {
	var parts []string
	if n := s.Answers[api.Accepted]; n > 0 {
		parts = append(parts, fmt.Sprintf("accepted %d", n))
	}
	for _, one := range []api.JobStatus{api.JobRefused, api.JobError, api.JobCanceled} {
		if n := s.Statuses[one]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", one, n))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("in flight %d", s.Released)), ", ")
}

// jobPace says how many jobs have results, how fast, and when the others will have.
func jobPace(recorded, before, total int64, after time.Duration) string {
	text := fmt.Sprintf("%d jobs", recorded)
	if total > 0 {
		text = fmt.Sprintf("%d of %d jobs", recorded, total)
	}
	if recorded <= before || after <= 0 {
		return text
	}

	rate := float64(recorded-before) / after.Seconds()
	text += fmt.Sprintf(", %.1f jobs/s", rate)
	if total > recorded {
		text += fmt.Sprintf(", %s left", time.Duration(float64(total-recorded)/rate*float64(time.Second)).Round(time.Second))
	}
	return text
}

// clearsLine is a terminal on which lines of a log take the place of the progress, which is shown again below them.
type clearsLine struct{ to io.Writer }

func (c clearsLine) Write(line []byte) (int, error) {
	const begin = "\r\x1b[K"
	n, err := c.to.Write(append([]byte(begin), line...))
	return max(n-len(begin), 0), err
}

func (p *batchProgress) end() {
	if p.lines != nil {
		p.lines.Vanish()
	}
	if p.counted != nil {
		<-p.counted
	}
}
