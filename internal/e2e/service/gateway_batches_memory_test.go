package service

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// API-15: batches with much more text than the service may have memory go through it: it holds few jobs of each.
func TestServiceHoldsFewJobsInMemory(t *testing.T) {
	agent := newLoadedAgent(t)
	agent.run = func(w http.ResponseWriter, r *http.Request) { answerLoaded(w, r, api.Result{Verdict: api.OK}) }
	s := serveLoaded(t, agent)
	before := s.peak(t)
	const clients, jobs, size = 8, 30, 1 << 20
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			in, out := io.Pipe()
			go func() { // ends with the request
				for i := range jobs {
					_, _ = fmt.Fprintf(out, `{"id": "%d", "language": "c", "source": "%s"}`+"\n", i, strings.Repeat("x", size))
				}
				_ = out.Close()
			}()

			res, err := http.Post("http://"+s.at+"/v1/batches?wait=true", jsonLines, in)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()

			results, end := readResults(t, res.Body)
			if len(results) != jobs || end == nil || end.Statuses[api.JobDone] != jobs {
				t.Errorf("%d results, %+v", len(results), end)
			}
		})
	}

	all.Wait()
	more := s.peak(t) - before
	t.Logf("%d MiB of jobs took %d MiB of memory", clients*jobs*size>>20, more>>20)
	if maximum := int64(160 << 20); more > maximum {
		t.Errorf("jobs of %d MiB took %d MiB of memory; the maximum is %d", clients*jobs*size>>20, more>>20, maximum>>20)
	}
}
