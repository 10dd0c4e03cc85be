//go:build chaos

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
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

// A job whose worker is killed each time that it begins becomes an error in the end, and all others are
// judged. From the third attempt it runs alone.
func TestStoppedPartsOfAPoisonJob(t *testing.T) {
	const jobs, poison = 60, 17
	lines := strings.SplitAfter(chaosJobs(jobs), "\n")
	lines[poison] = fmt.Sprintf(`{"id": "job-%d", "image": "tiny", "argv": ["/bin/sleep", "2"]}`+"\n", poison)
	r := newBatchRig(t, 1, strings.Join(lines, ""))
	w := r.workers[0]
	r.coordinator.start(t)
	kills, from := 0, 0
	begun := regexp.MustCompile(fmt.Sprintf(`msg=executing batch=\w+ index=%d `, poison))
	for r.coordinator.running() {
		time.Sleep(2 * time.Millisecond)
		text, err := os.ReadFile(w.log.Name())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(begun.FindAll(text, -1)); n > from {
			from = n
			kills++
			w.end(syscall.SIGKILL)
			w.start(t)
		}
	}
	if r.coordinator.code != 1 {
		t.Fatalf("the coordinator exited with %d: %s", r.coordinator.code, tail(t, r.coordinator))
	}
	text, err := os.ReadFile(r.out)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n != jobs {
		t.Errorf("%d of %d jobs have a line", n, jobs)
	}
	if n := bytes.Count(text, []byte(`"status":"done"`)); n < jobs-1 {
		t.Errorf("%d jobs are done, want all but one", n)
	}
	if kills < 3 || !bytes.Contains(text, []byte(fmt.Sprintf(`"id":"job-%d","index":%[1]d,"status":"error","error":{"code":"poison"`, poison))) {
		t.Errorf("%d kills; the job is no error: %s", kills, text)
	}
	t.Logf("%d kills", kills)
}
