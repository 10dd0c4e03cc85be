package service

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// judging is an agent for jobs: a program judged by its argument, as the run says that has it in argv[0].
type judging struct {
	runs    atomic.Int64
	hold    chan struct{} // runs with argv[0] hold wait until it is closed, or until they are canceled
	maximum atomic.Int64  // runs at the same time
	now     atomic.Int64

	mu  sync.Mutex
	ran map[string]int // guarded by mu; by argv[0]
}

func newJudging() *judging { return &judging{hold: make(chan struct{}), ran: map[string]int{}} }

// times is how often a program ran.
func (j *judging) times(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ran[name]
}

func (j *judging) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var run api.Run
		if err := json.NewDecoder(r.Body).Decode(&run); err != nil {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "%w", err))
			return
		}

		j.runs.Add(1)
		n := j.now.Add(1)
		for maximum := j.maximum.Load(); n > maximum && !j.maximum.CompareAndSwap(maximum, n); maximum = j.maximum.Load() {
		}
		defer j.now.Add(-1)

		name := strings.Join(run.Argv, "")
		j.mu.Lock()
		j.ran[name]++
		j.mu.Unlock()

		switch {
		case strings.HasPrefix(name, "hold"):
			select {
			case <-j.hold:
			case <-r.Context().Done():
				return
			}
		case name == "ceiling":
			deny(w, 400, api.Refuse(api.CodeAboveCeiling, "too much"))
			return
		case name == "wrong":
			say(w, 200, api.Result{Verdict: api.Nonzero, ExitCode: 1})
			return
		}

		say(w, 200, api.Result{Verdict: api.OK, Stdout: api.Bytes(name)})
	})

	return mux
}

// serveBatches starts a service with batches, which judges until stop is called.
func serveBatches(t *testing.T, mux *http.ServeMux, dir string, change func(*Config)) (web *httptest.Server, stop func()) {
	t.Helper()
	web = serveFake(t, mux, func(c *Config) {
		c.Batches, c.Grace = dir, 50*time.Millisecond
		if change != nil {
			change(c)
		}
	})

	g := web.Config.Handler.(*Gateway)
	g.batches.Store.Start(g.core.Stopping)
	stop = sync.OnceFunc(func() {
		g.core.Stop()
		g.batches.Store.Wait()
		g.core.Wait()
	})

	t.Cleanup(stop)
	return web, stop
}

// jobs are n lines, of programs with a name and a number.
func jobs(name string, from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"id": "%s-%d", "image": "tiny", "argv": ["%s"], "meta": %d}`+"\n", name, i, name, i)
	}
	return b.String()
}

// openBatch opens a batch, and returns its path.
func openBatch(t *testing.T, web *httptest.Server, body string, header ...string) string {
	t.Helper()
	var b api.Batch
	if s := send(t, web, "POST", "/v1/batches", body, &b, header...); s != 201 || b.State != api.BatchOpen {
		t.Fatalf("%d, %+v", s, b)
	}
	return "/v1/batches/" + b.ID
}

func addJobs(t *testing.T, web *httptest.Server, path, lines string, header ...string) (taken api.JobsTaken) {
	t.Helper()
	if s := send(t, web, "POST", path+"/jobs", lines, &taken, append(header, "Content-Type", core.JSONLines)...); s != 200 {
		t.Fatalf("%d, %+v", s, taken)
	}
	return taken
}

// readLines reads lines of results, and the end if there is one.
func readLines(t *testing.T, r io.Reader) (all []api.JobResult, end *api.BatchEnd) {
	t.Helper()
	in := bufio.NewScanner(r)
	in.Buffer(nil, 8<<20)

	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		if end != nil {
			t.Errorf("a line after the end: %.200s", in.Bytes())
		}
		if strings.HasPrefix(in.Text(), `{"end":true`) {
			end = new(api.BatchEnd)
			if err := json.Unmarshal(in.Bytes(), end); err != nil {
				t.Error(err)
			}
			continue
		}

		var one api.JobResult
		if err := json.Unmarshal(in.Bytes(), &one); err != nil || one.ID == "" {
			t.Fatalf("%v: %.200s", err, in.Bytes())
		}

		all = append(all, one)
	}

	if err := in.Err(); err != nil {
		t.Error(err)
	}
	return all, end
}

// follow reads the results of a batch to its end.
func follow(t *testing.T, web *httptest.Server, path, query string, header ...string) ([]api.JobResult, *api.BatchEnd) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", web.URL+path+"/results?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}

	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	if res.StatusCode != 200 || res.Header.Get("Content-Type") != core.JSONLines {
		t.Fatalf("%s: %d %s", path, res.StatusCode, res.Header.Get("Content-Type"))
	}
	return readLines(t, res.Body)
}

// onceEach checks that there is one result for each of n jobs.
func onceEach(t *testing.T, all []api.JobResult, n int) {
	t.Helper()
	seen := map[string]bool{}
	for _, one := range all {
		if seen[one.ID] {
			t.Errorf("%s has two results", one.ID)
		}
		seen[one.ID] = true
		if (one.Status == api.JobDone) != (one.Score != nil) {
			t.Errorf("%s is %s and has the score %v", one.ID, one.Status, one.Score)
		}
	}

	if len(seen) != n {
		t.Errorf("%d jobs have a result; want %d", len(seen), n)
	}
}
