package service

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

const jsonLines = "application/x-ndjson"

// jobLines are n jobs of a shell program with one test.
func jobLines(t testing.TB, name, script string, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		r := harness.Sh(fmt.Sprintf(script, i))
		expected := api.Bytes(fmt.Sprintf("%d\n", i))
		r.Tests = []api.Test{{Expected: &expected}}
		text, err := json.Marshal(api.Job{ID: fmt.Sprintf("%s-%d", name, i), Run: r, Meta: json.RawMessage(fmt.Sprint(i))})
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}

	return b.String()
}

// openBatch opens a batch, and returns its path.
func openBatch(s *harness.Service, ask string) string {
	s.T.Helper()
	var b api.Batch
	s.Call("POST", "/v1/batches", ask, 201, &b)
	return "/v1/batches/" + b.ID
}

func addJobs(s *harness.Service, path, lines string) (taken api.JobsTaken) {
	s.T.Helper()
	s.Call("POST", path+"/jobs", lines, 200, &taken, "Content-Type", jsonLines)
	return taken
}

// resultsOf reads lines of results until the response ends.
func resultsOf(s *harness.Service, path, query string) (all []api.JobResult, end *api.BatchEnd) {
	s.T.Helper()
	res, err := s.Send(s.T.Context(), "GET", path+"/results?"+query, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	defer res.Body.Close()
	return readResults(s.T, res.Body)
}

func readResults(t testing.TB, r io.Reader) (all []api.JobResult, end *api.BatchEnd) {
	t.Helper()
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil { // of a service that was killed: the last line may be incomplete
			return all, end
		}

		switch text := strings.TrimSpace(string(line)); {
		case text == "":
		case strings.HasPrefix(text, `{"end":true`):
			end = new(api.BatchEnd)
			err = json.Unmarshal(line, end)
		default:
			var one api.JobResult
			err = json.Unmarshal(line, &one)
			all = append(all, one)
		}

		if err != nil {
			t.Fatalf("%v: %.300s", err, line)
		}
	}
}

// A service that is killed goes on with its batches by itself when it starts again. A client that comes
// back gets each result once, and each job has one.
func TestServiceBatchIsKilled(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	data := filepath.Join(a.Dir, "gateway")
	s := harness.LaunchService(t, a, data)
	const n = 120
	lines := jobLines(t, "job", "sleep 0.02; echo %d", n)
	path := openBatch(s, `{"labels": {"project": "train"}}`)
	if taken := addJobs(s, path, lines[:len(lines)/2+strings.IndexByte(lines[len(lines)/2:], '\n')+1]); taken.Taken < n/3 {
		t.Fatalf("%+v", taken)
	}

	var all []api.JobResult
	for kills := range 3 {
		got := make(chan []api.JobResult, 1)
		go func() {
			some, _ := resultsOf(s, path, fmt.Sprintf("after=%d&follow=true", len(all)))
			got <- some
		}()
		for deadline := harness.Patience(); ; time.Sleep(5 * time.Millisecond) {
			var b api.Batch
			s.Call("GET", path, nil, 200, &b)
			if b.Results >= int64(10*(kills+1)) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("nothing is judged: %+v", b)
			}
		}

		_ = s.Cmd.Process.Kill()
		<-s.Done
		all = append(all, <-got...)
		s = harness.LaunchService(t, a, data)
	}

	if taken := addJobs(s, path, lines); taken.Taken+taken.Repeated != n || taken.Repeated < n/3 {
		t.Errorf("all jobs again: %+v", taken)
	}

	s.Call("POST", path+"/close", nil, 200, nil)
	rest, end := resultsOf(s, path, fmt.Sprintf("after=%d&follow=true", len(all)))
	if end == nil || end.State != api.BatchDone || end.Jobs != n || end.Statuses[api.JobDone] != n {
		t.Errorf("end: %+v", end)
	}

	seen := map[string]bool{}
	for _, one := range append(all, rest...) {
		if seen[one.ID] {
			t.Errorf("%s has two results", one.ID)
		}
		seen[one.ID] = true
		if one.Status != api.JobDone || one.Score == nil || *one.Score != 1 {
			t.Errorf("%s: %s, score %v, %+v", one.ID, one.Status, one.Score, one.Error)
		}
	}

	if len(seen) != n {
		t.Errorf("%d of %d jobs have a result; %d were read before the last start", len(seen), n, len(all))
	}

	t.Logf("%d results were read before the last of three kills", len(all))
}

// A batch is canceled at once, and interactive runs have a slot while one is full.
func TestServiceBatchLeavesOthersASlot(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	latency := func() []time.Duration {
		var all []time.Duration
		for range 40 {
			began := time.Now()
			var res api.Result
			s.Call("POST", "/v1/runs", harness.Sh("true"), 200, &res)
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		return all
	}

	idle := latency()
	path := openBatch(s, "{}")
	addJobs(s, path, jobLines(t, "long", "sleep 20; echo %d", 200))
	for deadline := harness.Patience(); ; time.Sleep(5 * time.Millisecond) {
		var h api.ServiceHealth
		if s.Call("GET", "/health", nil, 200, &h); h.Load >= 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no job of the batch runs")
		}
	}

	during := latency()
	t.Logf("runs alone: p50 %v, p99 %v; during a full batch: p50 %v, p99 %v", idle[len(idle)/2], idle[len(idle)-1],
		during[len(during)/2], during[len(during)-1])
	began := time.Now()
	var b api.Batch
	if s.Call("DELETE", path, nil, 200, &b); b.State != api.BatchCanceled {
		t.Errorf("%+v", b)
	}

	_, end := resultsOf(s, path, "follow=true")
	took := time.Since(began)
	if end == nil || end.Results != 200 || end.Statuses[api.JobCanceled] < 100 || took > harness.Slow(20*time.Second) {
		t.Errorf("canceled after %v: %+v", took, end)
	}

	t.Logf("canceled in %v: %v", took, end.Statuses)
	for deadline := harness.Patience(); ; time.Sleep(5 * time.Millisecond) {
		var h api.ServiceHealth
		if s.Call("GET", "/health", nil, 200, &h); h.Load == 0 && h.Agent.Reachable {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a run of a canceled batch goes on")
		}
	}

	s.Call("DELETE", path, nil, 204, nil)
	s.Call("GET", path, nil, 404, nil)
}
