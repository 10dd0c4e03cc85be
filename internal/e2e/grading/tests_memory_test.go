package grading

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// AGT-21: what counts is the memory that a job holds at one time. Parallel tests that do not fit
// together wait for each other; one that would never fit is refused, and the error says what would.
func TestTestsOfAJobShareTheAgentsMemory(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "4") // 1 GiB for requests, on a host with 8 GiB or more
	job := api.Run{
		Image: "tiny", Argv: []string{"sh", "-c", "cat; sleep 0.3; echo made >x"}, Limits: api.Limits{Output: 64 * api.MiB},
		Collect: api.Collect{Globs: []string{"x"}, Bytes: 256 * api.MiB},
	}
	for i := range 9 {
		right := api.Bytes(fmt.Sprint(i))
		job.Tests = append(job.Tests, api.Test{Stdin: right, Expected: &right, ID: fmt.Sprint(i)})
	}

	res := a.MustRun(t, job)
	harness.WantVerdict(t, res, api.OK)
	if res.Summary == nil || res.Summary.Accepted != 9 {
		t.Errorf("summary %+v; want every test accepted", res.Summary)
	}

	for _, one := range res.Tests {
		if len(one.Result.Files) != 1 || string(one.Result.Files[0].Content) != "made\n" {
			t.Errorf("test %s: files %+v", one.ID, one.Result.Files)
		}
	}

	few := harness.StartAgent(t, "--slots", "1") // 448 MiB
	job.Argv, job.KeepOutput = []string{"sh", "-c", "head -c 16777216 /dev/zero"}, 16*api.MiB
	_, err := few.Client.Run(t.Context(), job)
	harness.WantCode(t, err, api.CodeTooLarge)
	if text := fmt.Sprint(err); !strings.Contains(text,
		`test "4" may need 400M of the agent's memory while it runs, and the results before it, 4 of 9, take 64M of the 448M in total: together with such a test 0 results of up to 288M each fit`) {
		t.Errorf("%v; want the figures and what to lower", err)
	}

	job.Collect, job.KeepOutput = api.Collect{None: true}, 0
	if res := few.MustRun(t, job); len(res.Tests) != 9 {
		t.Errorf("%d tests ran with less to keep", len(res.Tests))
	}
}
