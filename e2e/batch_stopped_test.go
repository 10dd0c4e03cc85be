//go:build chaos

package e2e

import (
	"syscall"
	"testing"
	"time"
)

// signal sends a signal.
func (p *part) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(s) // as above
}

// Each part is stopped for twice the time after which a job is given to another worker, and goes on then. A job
// may be executed twice, and has one result.
func TestStoppedPartsOfABatch(t *testing.T) {
	const jobs = 6000
	r := newBatchRig(t, 2, chaosJobs(jobs))
	r.coordinator.start(t)
	for _, p := range []*part{r.workers[0], r.agents[1], r.engine, r.coordinator} {
		time.Sleep(time.Second)
		p.signal(syscall.SIGSTOP)
		time.Sleep(2 * 30 * time.Second)
		p.signal(syscall.SIGCONT)
	}
	r.wait(5 * time.Minute)
	r.check(jobs)
	t.Logf("%d executions of %d jobs", r.executions(), jobs)
}
