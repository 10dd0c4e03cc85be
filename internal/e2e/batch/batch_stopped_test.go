//go:build chaos

package batch

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

// Parts are stopped for twice the time after which a job is given to another worker, and go on then: a worker and
// the agent of another one, the engine, the coordinator. A job may be executed twice, and has one result.
func TestStoppedPartsOfABatch(t *testing.T) {
	const jobs = 1000
	lines := strings.ReplaceAll(chaosJobs(jobs), `["/bin/echo", "`, `["/bin/sh", "-c", "sleep 0.25; echo `)
	r := newBatchRig(t, 3, lines)
	r.coordinator.start(t)

	for _, parts := range [][]*part{{r.workers[0], r.agents[1]}, {r.engine}, {r.coordinator}} {
		time.Sleep(2 * time.Second)
		before := r.executions()
		for _, p := range parts {
			if !p.running() {
				t.Fatalf("%s has ended: the batch is too short to stop it", p.name)
			}
			p.signal(syscall.SIGSTOP)
		}

		time.Sleep(2 * 30 * time.Second)
		for _, p := range parts {
			p.signal(syscall.SIGCONT)
			t.Logf("%s was stopped; %d executions meanwhile", p.name, r.executions()-before)
		}
	}

	r.wait(3 * time.Minute)
	r.check(jobs)
	n := r.executions()
	t.Logf("%d executions of %d jobs", n, jobs)
	if n > jobs*11/10 {
		t.Errorf("%d executions of %d jobs", n, jobs)
	}
}

// A job whose worker is killed each time that it begins becomes an error in the end, and all others are
// judged. From the third attempt it runs alone.
func TestStoppedPartsOfAPoisonJob(t *testing.T) {
	const jobs, poison = 60, 17
	lines := strings.SplitAfter(chaosJobs(jobs), "\n")
	lines[poison] = fmt.Sprintf(`{"id": "job-%d", "image": "tiny", "argv": ["/bin/sleep", "20"]}`+"\n", poison)
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
	if kills < 3 || !bytes.Contains(text,
		[]byte(fmt.Sprintf(`"id":"job-%d","index":%[1]d,"status":"error","error":{"code":"poison"`, poison))) {
		t.Errorf("%d kills; the job is no error: %s", kills, text)
	}

	t.Logf("%d kills", kills)
}
