package batch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Two batches send more than an agent has slots for, and another client has them meanwhile (A7): no job is an error,
// and no verdict is another one than it would be on an idle agent.
func TestABatchOnABusyAgent(t *testing.T) {
	const jobs = 200
	a := harness.StartAgent(t, "--slots", "2")
	dir := t.TempDir()
	ownCache(t, dir)
	in := filepath.Join(dir, "jobs.jsonl")
	if err := os.WriteFile(in, []byte(chaosJobs(jobs)), 0o644); err != nil {
		t.Fatal(err)
	}

	ended := make(chan struct{})
	var client, batches sync.WaitGroup
	client.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				_, _ = a.Run(t.Context(), harness.Sh("sleep 0.02")) // it is refused while the batches have the slots
			}
		}
	})

	for i := range 2 {
		batches.Go(func() {
			out := filepath.Join(dir, fmt.Sprintf("out%d.jsonl", i))
			if text, err := exec.Command(harness.Binary(t, "brig"), "batch", in, "-o", out, "--socket", a.Socket, "--local",
				"8", "--keep", "summary",
				"--quiet").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, text)
			}
		})
	}

	batches.Wait()
	close(ended)
	client.Wait()
	for i := range 2 {
		r := batchRig{t: t, out: filepath.Join(dir, fmt.Sprintf("out%d.jsonl", i))}
		r.check(jobs)
	}
}
