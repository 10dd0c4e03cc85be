package e2e

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
)

const jsonLines = "application/x-ndjson"

// jobLines are n jobs of a shell program with one test.
func jobLines(t testing.TB, name, script string, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		r := sh(fmt.Sprintf(script, i))
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
func (s *service) openBatch(ask string) string {
	s.t.Helper()
	var b api.Batch
	s.call("POST", "/v1/batches", ask, 201, &b)
	return "/v1/batches/" + b.ID
}

func (s *service) addJobs(path, lines string) (taken api.JobsTaken) {
	s.t.Helper()
	s.call("POST", path+"/jobs", lines, 200, &taken, "Content-Type", jsonLines)
	return taken
}

// results reads lines of results until the response ends.
func (s *service) results(path, query string) (all []api.JobResult, end *api.BatchEnd) {
	s.t.Helper()
	res, err := s.send(s.t.Context(), "GET", path+"/results?"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	return readResults(s.t, res.Body)
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
	a := startAgent(t, sharedFlags...)
	data := filepath.Join(a.dir, "gateway")
	s := launchService(t, a, data)
	const n = 120
	lines := jobLines(t, "job", "sleep 0.02; echo %d", n)
	path := s.openBatch(`{"labels": {"project": "train"}}`)
	if taken := s.addJobs(path, lines[:len(lines)/2+strings.IndexByte(lines[len(lines)/2:], '\n')+1]); taken.Taken < n/3 {
		t.Fatalf("%+v", taken)
	}

	var all []api.JobResult
	for kills := range 3 {
		got := make(chan []api.JobResult, 1)
		go func() {
			some, _ := s.results(path, fmt.Sprintf("after=%d&follow=true", len(all)))
			got <- some
		}()
		for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
			var b api.Batch
			s.call("GET", path, nil, 200, &b)
			if b.Results >= int64(10*(kills+1)) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("nothing is judged: %+v", b)
			}
		}

		_ = s.cmd.Process.Kill()
		<-s.done
		all = append(all, <-got...)
		s = launchService(t, a, data)
	}

	if taken := s.addJobs(path, lines); taken.Taken+taken.Repeated != n || taken.Repeated < n/3 {
		t.Errorf("all jobs again: %+v", taken)
	}

	s.call("POST", path+"/close", nil, 200, nil)
	rest, end := s.results(path, fmt.Sprintf("after=%d&follow=true", len(all)))
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
	a := startAgent(t, sharedFlags...)
	s := startService(t, a)
	latency := func() []time.Duration {
		var all []time.Duration
		for range 40 {
			began := time.Now()
			var res api.Result
			s.call("POST", "/v1/runs", sh("true"), 200, &res)
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		return all
	}

	idle := latency()
	path := s.openBatch("{}")
	s.addJobs(path, jobLines(t, "long", "sleep 20; echo %d", 200))
	for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
		var h api.ServiceHealth
		if s.call("GET", "/health", nil, 200, &h); h.Load >= 1 {
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
	if s.call("DELETE", path, nil, 200, &b); b.State != api.BatchCanceled {
		t.Errorf("%+v", b)
	}

	_, end := s.results(path, "follow=true")
	took := time.Since(began)
	if end == nil || end.Results != 200 || end.Statuses[api.JobCanceled] < 100 || took > slow(20*time.Second) {
		t.Errorf("canceled after %v: %+v", took, end)
	}

	t.Logf("canceled in %v: %v", took, end.Statuses)
	for deadline := patience(); ; time.Sleep(5 * time.Millisecond) {
		var h api.ServiceHealth
		if s.call("GET", "/health", nil, 200, &h); h.Load == 0 && h.Agent.Reachable {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a run of a canceled batch goes on")
		}
	}

	s.call("DELETE", path, nil, 204, nil)
	s.call("GET", path, nil, 404, nil)
}
