//go:build vm

package batch

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The clock of the machine is set back by an hour while a batch runs: a virtual machine's, never the host's.
func TestABatchWhoseClockIsSetBack(t *testing.T) {
	const jobs = 300
	a := harness.StartAgent(t, "--slots", "1")
	dir := harness.PublicDir(t, "brig-e2e-")
	in := filepath.Join(dir, "jobs.jsonl")
	if err := os.WriteFile(in, []byte(chaosJobs(jobs)), 0o644); err != nil {
		t.Fatal(err)
	}

	r := &batchRig{t: t, dir: dir, out: filepath.Join(dir, "out.jsonl")}
	r.coordinator = newPart(t, dir, "coordinator", harness.Binary(t, "brig"), "batch", in, "-o", r.out, "--socket",
		a.Socket, "--keep", "summary")
	r.engine = r.coordinator
	r.coordinator.start(t)
	recorded := func() int {
		text, _ := os.ReadFile(r.out) // it is not there yet
		return bytes.Count(text, []byte("\n"))
	}
	for begin := time.Now(); recorded() < jobs/10; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("only %d jobs are recorded: %s", recorded(), tail(t, r.coordinator))
		}
	}

	set := func(to time.Time) {
		t.Helper()
		if err := syscall.Settimeofday(&syscall.Timeval{Sec: to.Unix()}); err != nil {
			t.Fatal(err)
		}
	}

	set(time.Now().Add(-time.Hour))
	defer func() { set(time.Now().Add(time.Hour)) }()

	t.Logf("%d of %d jobs were recorded before", recorded(), jobs)
	r.wait(5 * time.Minute)
	r.check(jobs)
}
