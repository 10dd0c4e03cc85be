package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testservice"
)

const interactiveRuns = 300 // of each measurement

// interactive measures runs through the service while nothing else runs, and while a batch takes all slots that it
// can have.
func (t *tool) interactive(ctx context.Context) (err error) {
	s, err := testservice.Start(t.brig, 10*time.Second, "--socket", filepath.Join(t.agent.Dir, "brigd.sock"), "--data-dir",
		filepath.Join(t.dir, "service"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop(time.Minute)) }()

	idle, err := t.interactiveP99(ctx, s.URL)
	if err != nil {
		return err
	}

	var jobs strings.Builder
	for i := range 100_000 { // more than are judged meanwhile
		fmt.Fprintf(&jobs, `{"id": "%d", "image": %q, "argv": ["/bin/true"]}`+"\n", i, t.own.Name)
	}

	var b api.Batch
	if err := ask(ctx, "POST", s.URL+"/v1/batches", "application/json", `{"keep": "summary"}`, &b); err != nil {
		return err
	}

	batch := s.URL + "/v1/batches/" + b.ID
	if err := ask(ctx, "POST", batch+"/jobs", "application/x-ndjson", jobs.String(), new(api.JobsTaken)); err != nil {
		return err
	}

	during, err := t.interactiveP99(ctx, s.URL)
	if err != nil {
		return err
	}
	if err := ask(ctx, "GET", batch, "", "", &b); err != nil {
		return err
	}

	// A batch that has ended, or has judged nothing, was no load: the service was as idle as before.
	if b.Ended != nil || b.Results == 0 {
		return fmt.Errorf("the batch was not under way: %d results, %s", b.Results, b.State)
	}
	if err := ask(ctx, "DELETE", batch, "", "", new(api.Batch)); err != nil {
		return err
	}

	maximum := 2*idle + 50*time.Millisecond
	t.report.add("p99 of runs through the service next to a full batch",
		"at most twice the p99 alone, plus 50 ms", during <= maximum,
		"%.1f ms (alone %.1f ms; %.0f jobs/s meanwhile)", during.Seconds()*1e3, idle.Seconds()*1e3, b.Rate)
	return nil
}

// interactiveP99 is the time that all but one in a hundred runs take, one after the other.
func (t *tool) interactiveP99(ctx context.Context, url string) (time.Duration, error) {
	var all []time.Duration
	run := fmt.Sprintf(`{"image": %q, "argv": ["/bin/true"]}`, t.own.Name)
	for range interactiveRuns {
		began := time.Now()
		var res api.Result
		if err := ask(ctx, "POST", url+"/v1/runs", "application/json", run, &res); err != nil {
			return 0, err
		}
		if res.Verdict != api.OK {
			return 0, fmt.Errorf("a run ended with %s", res.Verdict)
		}
		all = append(all, time.Since(began))
	}

	slices.Sort(all)
	return all[len(all)*99/100], nil
}

// ask sends a request to the service and decodes its answer.
func ask(ctx context.Context, method, url, kind, body string, into any) (err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()

	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.300s", method, url, res.Status, answer)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}
