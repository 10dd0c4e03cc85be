package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/batches"
	"github.com/brig-sandbox/brig/service/core"
)

// exchange sends lines with wait=true, and returns the response.
func exchange(t *testing.T, ctx context.Context, web *httptest.Server, query string, body io.Reader, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/batches?wait=true"+query, body)
	if err != nil {
		t.Fatal(err)
	}

	req.Header.Set("Content-Type", core.JSONLines)
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}

	res, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { res.Body.Close() })
	return res
}

// In one exchange each line gets its result, also one that is no job.
func TestBatchInOneExchange(t *testing.T) {
	agent := newJudging()
	web, _ := serveBatches(t, agent.mux(), t.TempDir(), nil)
	body := `{"defaults": {"image": "tiny", "argv": ["good"]}, "keep": "summary"}` + "\n" + `{"id": "a"}` + "\n" +
		`{"id": "b", "argv": ["wrong"]}` + "\n" +
		"no job\n" + `{"id": "c", "nothing": 1}` + "\n" + `{"id": "d", "source": "` + strings.Repeat("x", batches.MaxLine) + `"}` +
		"\n" + `{"id": "e"}` + "\n"
	res := exchange(t, t.Context(), web, "", strings.NewReader(body))
	all, end := readLines(t, res.Body)
	onceEach(t, all, 6)
	status := map[string]api.JobStatus{}
	for _, one := range all {
		status[one.ID] = one.Status
		if one.Result != nil {
			t.Errorf("%s has a result although summaries are kept", one.ID)
		}
	}

	for id, want := range map[string]api.JobStatus{"a": api.JobDone, "b": api.JobDone, "line 4": api.JobRefused, "c": api.JobRefused,
		"line 6": api.JobRefused, "e": api.JobDone} {
		if status[id] != want {
			t.Errorf("%s is %q; want %s: %v", id, status[id], want, status)
		}
	}

	if end == nil || end.Jobs != 6 || end.Error != nil {
		t.Errorf("end: %+v", end)
	}

	// The same results are there for a client that lost them.
	if again, _ := follow(t, web, res.Header.Get("Location"), "follow=true"); len(again) != 6 {
		t.Errorf("%d results afterwards", len(again))
	}

	var p api.Problem
	if s := send(t, web, "POST", "/v1/batches?wait=true", "", &p, "Content-Type", core.JSONLines); s != 400 {
		t.Errorf("no jobs: %d, %+v", s, p)
	}
	if s := send(t, web, "POST", "/v1/batches?wait=true", jobs("good", 0, 1), &p); s != 415 {
		t.Errorf("of another content type: %d, %+v", s, p)
	}
}

// Results come while the client still sends, and a client that hangs up cancels nothing, unless it says so.
// The example of docs/gateway.md: tests that all jobs share need no ids.
func TestTestsOfABatchNeedNoIDs(t *testing.T) {
	agent := newJudging()
	web, _ := serveBatches(t, agent.mux(), t.TempDir(), nil)
	defaults := `{"defaults": {"image": "tiny", "argv": ["ceiling"], "tests": [{"stdin": "21", "expected": "42"}]}}`
	all, _ := readLines(t, exchange(t, t.Context(), web, "", strings.NewReader(defaults+"\n"+`{"id": "a"}`+"\n")).Body)
	if len(all) != 1 || !api.HasCode(all[0].Error, api.CodeAboveCeiling) { // from the agent
		t.Errorf("in one exchange: %+v", all)
	}
	if got := addJobs(t, web, openBatch(t, web, defaults), `{"id": "a"}`+"\n"); got.Taken != 1 {
		t.Errorf("added: %+v", got)
	}
}

func TestBatchExchangeGoesBothWays(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		t.Run(fmt.Sprint(cancels), func(t *testing.T) {
			agent := newJudging()
			web, _ := serveBatches(t, agent.mux(), t.TempDir(), nil)
			ctx, hangUp := context.WithCancel(t.Context())
			in, out := io.Pipe()
			go io.WriteString(out, jobs("good", 0, 1))
			res := exchange(t, ctx, web, fmt.Sprintf("&cancel_on_hangup=%v", cancels), in)
			results := bufio.NewReader(res.Body)
			for i := range 3 {
				if line, err := results.ReadString('\n'); err != nil || !strings.Contains(line, fmt.Sprintf(`"good-%d"`, i)) {
					t.Fatalf("%v: %s", err, line)
				}
				if _, err := io.WriteString(out, jobs("good", i+1, 1)); err != nil {
					t.Fatal(err)
				}
			}

			if _, err := io.WriteString(out, jobs("hold", 0, 10)); err != nil {
				t.Fatal(err)
			}

			for agent.now.Load() < 3 {
				time.Sleep(time.Millisecond)
			}

			hangUp()
			out.Close()
			path := res.Header.Get("Location")
			if !cancels {
				for state := api.BatchOpen; state == api.BatchOpen; time.Sleep(time.Millisecond) {
					var b api.Batch
					send(t, web, "GET", path, "", &b)
					state = b.State
				}
				close(agent.hold)
			}

			all, end := follow(t, web, path, "follow=true")
			want := api.BatchDone
			if cancels {
				want = api.BatchCanceled
			}
			if onceEach(t, all, 14); end == nil || end.State != want {
				t.Errorf("%+v; want it %s", end, want)
			}
		})
	}
}

// An exchange whose connection broke is sent again with the same key, and nothing is judged twice.
func TestBatchExchangeIsRepeated(t *testing.T) {
	agent := newJudging()
	web, _ := serveBatches(t, agent.mux(), t.TempDir(), nil)
	ctx, hangUp := context.WithCancel(t.Context())
	in, out := io.Pipe()
	go io.WriteString(out, jobs("good", 0, 7))
	first := exchange(t, ctx, web, "", in, "Idempotency-Key", "step 1")
	if _, err := bufio.NewReader(first.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}

	hangUp()
	out.CloseWithError(errors.New("the connection broke"))
	for range 2 {
		res := exchange(t, t.Context(), web, "", strings.NewReader(jobs("good", 0, 20)), "Idempotency-Key", "step 1")
		all, end := readLines(t, res.Body)
		if onceEach(t, all, 20); end == nil || end.Error != nil || res.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("%+v of %s", end, res.Header.Get("Location"))
		}
	}

	if n := agent.runs.Load(); n != 20 {
		t.Errorf("20 jobs were executed %d times", n)
	}
}
