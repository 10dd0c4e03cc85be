package neighbours

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// flood fills both streams with the given number of MiB each.
const flood = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char b[65536];
int main(int c, char **v) {
  memset(b, 'x', sizeof b);
  for (long i = 0; i < 16 * atol(v[1]); i++)
    if (write(1, b, sizeof b) != sizeof b || write(2, b, sizeof b) != sizeof b) return 1;
  return 0;
}`

// AGT-21: all slots work on jobs whose tests fill both streams up to the output ceiling, and on
// runs that do the same; in addition there are twice as many requests of the largest kind. The
// agent uses no more memory than it states. Requests that do not fit are answered with busy.
func TestHostileOutputFitsTheAgentsMemory(t *testing.T) {
	const slots = 16
	a := harness.StartAgent(t, "--slots", strconv.Itoa(slots))
	health, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	flood := harness.CompileC(t, "flood", flood)
	right := api.Bytes(strings.Repeat("x", 1<<20))
	job := harness.Program(flood, "60")
	job.Limits, job.Collect.None = api.Limits{Output: 64 * api.MiB, Memory: 16 * api.MiB, Wall: harness.Seconds(30)}, true
	tests := 2
	if harness.Long() {
		tests = 4
	}
	for i := range tests {
		job.Tests = append(job.Tests, api.Test{ID: fmt.Sprint(i), Expected: &right})
	}

	whole := harness.Program(flood, "60")
	whole.Limits, whole.Collect.None = job.Limits, true
	large := harness.Program(flood, "1")
	large.Files = append(large.Files, api.File{Name: "large", Content: make([]byte, 40<<20)})
	var wg sync.WaitGroup
	var mu sync.Mutex
	ended := map[string]int{}
	for i := range 2 * slots {
		for _, r := range []api.Run{job, whole, large}[:2+i%2] {
			wg.Go(func() {
				word := ""
				switch res, err := a.Run(t.Context(), r); {
				case err == nil:
					word = string(res.Verdict)
					if len(r.Tests) == 0 && word == string(api.OK) && r.Files[0].Name == "flood" && len(r.Files) == 1 &&
						(len(res.Stdout) != 16<<20 || len(res.Stderr) != 16<<20 || !res.StdoutTruncated || !res.StderrTruncated ||
							res.Usage.StdoutBytes != 60<<20) {
						t.Errorf("an answer in one piece carries %d and %d bytes of %d, truncated %v, %v", len(res.Stdout), len(res.Stderr),
							res.Usage.StdoutBytes, res.StdoutTruncated, res.StderrTruncated)
					}

				default:
					var e *api.Error
					if !errors.As(err, &e) || e.Code != api.CodeBusy && e.Code != api.CodeOverloaded && !harness.AgentStood(err) {
						t.Errorf("run: %v", err)
						return
					}
					word = string(e.Code)
				}

				mu.Lock()
				ended[word]++
				mu.Unlock()
			})
		}
	}

	wg.Wait()
	peak := a.PeakMemory(t)
	t.Logf("%v; the agent took %s of the %s it says", ended, api.Size(peak), api.Size(health.AgentMemoryMax))
	if peak > health.AgentMemoryMax {
		t.Errorf("the agent took %s, and says that it takes at most %s", api.Size(peak), api.Size(health.AgentMemoryMax))
	}
	if ended[string(api.OK)] < slots/2 {
		t.Errorf("%v: too few have run to tell", ended)
	}
}

// AGT-21: the inputs and expected outputs of tests that are blobs are loaded one after the other as
// memory becomes available. Those of all tests that wait for one of the slots would together be
// twice what the agent says it uses.
func TestHostileBlobsFitTheAgentsMemory(t *testing.T) {
	const slots, size = 4, 64 << 20
	a := harness.StartAgent(t, "--slots", strconv.Itoa(slots))
	health, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	content := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	blob, err := a.PutBlob(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	if all := api.Size(slots * slots * 2 * size); all < api.Size(health.AgentMemoryMax)*3/2 {
		t.Fatalf("the blobs are %s, and the agent may take %s: the test proves nothing", all, api.Size(health.AgentMemoryMax))
	}

	job := api.Run{Image: "tiny", Argv: []string{"cat"}, Limits: api.Limits{Output: size, Memory: 16 * api.MiB, Wall: harness.Slowly(30)}}
	for i := range slots {
		job.Tests = append(job.Tests, api.Test{ID: fmt.Sprint(i), StdinBlob: blob, ExpectedBlob: blob})
	}

	var wg sync.WaitGroup
	var accepted atomic.Int64
	for range slots {
		wg.Go(func() {
			res, err := a.Run(t.Context(), job)
			var e *api.Error
			switch {
			case err == nil && res.Verdict == api.OK && res.Summary.Accepted == slots:
				accepted.Add(slots)
			case err == nil:
				t.Errorf("%s: %+v", res.Verdict, res.Summary)
			case !errors.As(err, &e) || e.Code != api.CodeBusy && e.Code != api.CodeOverloaded:
				t.Error(err)
			}
		})
	}

	wg.Wait()
	peak := a.PeakMemory(t)
	t.Logf("%d tests accepted; the agent took %s of the %s it says", accepted.Load(), api.Size(peak), api.Size(health.AgentMemoryMax))
	if peak > health.AgentMemoryMax {
		t.Errorf("the agent took %s, and says that it takes at most %s", api.Size(peak), api.Size(health.AgentMemoryMax))
	}
	if accepted.Load() < 2*slots {
		t.Errorf("%d tests were accepted: too few waited at a time to tell", accepted.Load())
	}
}

// AGT-21: a job whose tests may each use half of the agent's memory for results, and use almost
// none of it, leaves memory to others: to ordinary runs at once, and to one that may use as much,
// after a test of the job. The control is the same job without that request.
func TestLargeTestsLeaveMemoryToOthers(t *testing.T) {
	for _, hostile := range []bool{false, true} {
		t.Run(fmt.Sprintf("hostile %v", hostile), func(t *testing.T) {
			a := harness.StartAgent(t, "--slots", "2")
			job := harness.ManyTests(1000, "sleep 2")
			small, large := harness.Sh("exit 0"), harness.Sh("exit 0")
			small.Limits.Memory, large.Limits.Memory = 64*api.MiB, 64*api.MiB
			large.Collect = api.Collect{Globs: []string{"*"}, Bytes: 240 * api.MiB}
			if hostile {
				job.Collect, job.KeepOutput = large.Collect, 16*api.MiB
			}

			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			defer func() { cancel(); <-ended }()

			var finished atomic.Int64
			go func() {
				defer close(ended)
				_, _ = a.RunEvents(ctx, job, nil, client.Events{Test: func(api.TestResult) { finished.Add(1) }})
			}()
			harness.Eventually(t, "a test", func() bool { return finished.Load() >= 1 })
			before := finished.Load()

			for _, r := range []api.Run{small, large, small, small, large} {
				begun := time.Now()
				for {
					res, err := a.Run(t.Context(), r)
					if err == nil {
						harness.WantVerdict(t, res, api.OK)
						break
					}
					if harness.WantCode(t, err, api.CodeBusy); time.Since(begun) > harness.Slow(30*time.Second) { // the job takes 1000 s
						t.Fatalf("no room next to a job after %v: %v", time.Since(begun), err)
					}
					time.Sleep(50 * time.Millisecond)
				}

				t.Logf("collect %s: after %v", r.Collect.Bytes, time.Since(begun).Round(time.Millisecond))
			}

			harness.Eventually(t, "the tests to go on", func() bool { return finished.Load() >= before+2 })
		})
	}
}
