package harness

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// RunBatch runs brig batch and returns its results by the ids of the jobs.
func (a *Agent) RunBatch(t *testing.T, jobs []byte) map[string]api.JobResult {
	t.Helper()
	var errs bytes.Buffer
	c := exec.Command(Binary(t, "brig"), "batch", "--socket", a.Socket, "--quiet", "-o", "-", "-")
	c.Stdin, c.Stderr = bytes.NewReader(jobs), &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}

	all := map[string]api.JobResult{}
	for l := range bytes.Lines(out) {
		var res api.JobResult
		if err := json.Unmarshal(l, &res); err != nil {
			t.Fatal(err)
		}
		all[res.ID] = res
	}

	return all
}
