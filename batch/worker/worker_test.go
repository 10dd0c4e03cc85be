package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

// A delivery is a job that a test gives to a worker, and what became of it.
type delivery struct {
	message  batch.Message
	result   *api.JobResult // nil: it has none
	later    bool
	returned string
	dropped  bool
	extends  atomic.Int64
	ended    chan struct{}
}

func (d *delivery) Job() batch.Message { return d.message }
func (d *delivery) Extend() error      { d.extends.Add(1); return nil }

func (d *delivery) Done(_ context.Context, result []byte) error {
	d.result = new(api.JobResult)
	defer close(d.ended)
	var r batch.HandBack
	err := json.Unmarshal(result, &r)
	d.returned = r.Reason
	return errors.Join(err, json.Unmarshal(result, d.result))
}

func (d *delivery) Later(time.Duration) error { d.later = true; close(d.ended); return nil }
func (d *delivery) Drop() error               { d.dropped = true; close(d.ended); return nil }

func deliver(t *testing.T, index int64, attempt int, w batch.Work) *delivery {
	t.Helper()
	w.Index, w.Job.ID, w.Digest = index, fmt.Sprintf("job-%d", index), "sha256:00"
	body, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return &delivery{message: batch.Message{Batch: "b", Index: index, Attempt: attempt, Body: body}, ended: make(chan struct{})}
}

// start runs a worker on jobs until the test ends.
func start(t *testing.T, w *Worker, jobs ...*delivery) {
	t.Helper()
	next := make(chan *delivery)
	source := func(from chan *delivery) func() Source {
		return func() Source {
			return func(ctx context.Context, none func()) (Delivery, error) {
				none()
				select {
				case d := <-from:
					return d, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
	}

	w.Name, w.Jobs, w.Urgent = "w", source(next), source(nil)
	if w.Healthy == nil {
		w.Healthy = func(context.Context) error { return nil }
	}

	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { w.Run(ctx) })
	all.Go(func() {
		for _, d := range jobs {
			select {
			case next <- d:
			case <-ctx.Done():
			}
		}
	})

	t.Cleanup(func() { cancel(); all.Wait() })
}

func ok(context.Context, api.Run) (api.RawResult, error) {
	return api.RawResult{Result: api.Result{Verdict: api.OK, Stdout: []byte(strings.Repeat("x", 5000))}}, nil
}

func TestResults(t *testing.T) {
	tests := api.Run{Tests: []api.Test{{ID: "1"}}}
	for _, tt := range []struct {
		name     string
		attempt  int
		work     batch.Work
		execute  []any // what each execution comes to: a result or an error
		status   api.JobStatus
		code     api.Code
		attempts int
		later    bool
		returned bool // given back, which is no attempt
	}{
		{name: "a judgement", attempt: 1, execute: []any{api.Result{Verdict: api.Nonzero}}, status: api.JobDone, attempts: 1},
		{name: "the job is wrong", attempt: 1, execute: []any{api.Refuse(api.CodeBadLimits, "no")}, status: api.JobRefused,
			code: api.CodeBadLimits, attempts: 1},
		{name: "the checker is wrong", attempt: 1, work: batch.Work{Job: api.Job{Run: tests}},
			execute: []any{api.Refuse(api.CodeCheckFailed, "no")}, status: api.JobRefused, code: api.CodeCheckFailed, attempts: 1},
		{name: "busy, three times", attempt: 1,
			execute: []any{api.Fail(api.CodeBusy, ""), api.Fail(api.CodeOverloaded, ""), api.Fail(api.CodeBusy, ""), api.Result{Verdict: api.OK}},
			status:  api.JobDone, attempts: 1},
		{name: "the agent ended, once", attempt: 1, execute: []any{api.Fail(api.CodeAgentGone, "gone"), api.Result{Verdict: api.OK}},
			status: api.JobDone, attempts: 2},
		{name: "the agent stopped the run", attempt: 1, execute: []any{api.Result{Verdict: api.Canceled}, api.Result{Verdict: api.OK}},
			status: api.JobDone, attempts: 2},
		{name: "the agent ends each time", attempt: 1,
			execute: []any{api.Fail(api.CodeAgentGone, "gone"), api.Fail(api.CodeAgentGone, "gone")}, later: true},
		{name: "the agent ends each time, at last", attempt: 5, work: batch.Work{MaxAttempts: 5},
			execute: []any{api.Fail(api.CodeAgentGone, "gone")}, status: api.JobError, code: api.CodePoison, attempts: 6},
		{name: "the agent fails each time, at last", attempt: 5, work: batch.Work{MaxAttempts: 5},
			execute: []any{api.Fail(api.CodeInternal, "oops")}, status: api.JobError, code: api.CodeInternal, attempts: 6},
		{name: "the host has no memory, at last", attempt: 5, work: batch.Work{MaxAttempts: 5},
			execute: []any{api.Fail(api.CodeHostMemory, "oom")}, status: api.JobError, code: api.CodeHostMemory, attempts: 6},
		{name: "the agent stops, at last", attempt: 5, work: batch.Work{MaxAttempts: 5}, execute: []any{api.Result{Verdict: api.Canceled}},
			status: api.JobError, code: api.CodePoison, attempts: 6},
		{name: "its workers ended", attempt: 6, work: batch.Work{MaxAttempts: 5}, status: api.JobError, code: api.CodePoison, attempts: 6},
		{name: "another image", attempt: 1, work: batch.Work{Image: "sha256:a", Job: api.Job{Run: api.Run{Language: "python"}}}, returned: true},
		{name: "no image", attempt: 1, work: batch.Work{Image: "sha256:a", Job: api.Job{Run: api.Run{Language: "cpp"}}}, returned: true},
		{name: "not permitted", attempt: 1, work: batch.Work{Job: api.Job{Run: api.Run{Network: "public"}}}, status: api.JobRefused,
			code: api.CodeForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			d := deliver(t, 3, tt.attempt, tt.work)
			w := &Worker{Slots: 1, Images: map[string]string{"python": "sha256:b"},
				Refuse: func(r api.Run) error {
					if r.Network != "" {
						return api.Refuse(api.CodeForbidden, "no")
					}
					return nil
				},
				Execute: func(context.Context, api.Run) (api.RawResult, error) {
					switch got := tt.execute[calls.Add(1)-1].(type) {
					case api.Result:
						return api.RawResult{Result: got}, nil
					case error:
						return api.RawResult{}, got
					}
					panic("neither a result nor an error")
				}}

			start(t, w, d)
			<-d.ended
			outcome := string(tt.status)
			if tt.later || tt.returned {
				outcome = "given-back"
			}
			if all := w.Outcomes(); len(all) != 1 || all[outcome] != 1 {
				t.Errorf("outcomes %v, want one %s", all, outcome)
			}
			if n := int(calls.Load()); n != len(tt.execute) {
				t.Errorf("%d executions, want %d", n, len(tt.execute))
			}
			if tt.later {
				if !d.later || d.result != nil {
					t.Errorf("the job was not given back: %+v", d.result)
				}
				return
			}
			if tt.returned {
				if d.returned == "" || d.result.Status != "" {
					t.Errorf("the job was not given back: %+v", d.result)
				}
				return
			}

			r := d.result
			if r == nil || r.Status != tt.status || r.Attempts != tt.attempts || r.ID != "job-3" || r.Index != 3 || r.Worker != "w" ||
				r.Digest != "sha256:00" {
				t.Fatalf("result %+v", r)
			}
			if (r.Error != nil) != (tt.code != "") || r.Error != nil && r.Error.Code != tt.code {
				t.Errorf("error %+v, want %s", r.Error, tt.code)
			}
			if (r.Status == api.JobDone) != (r.Score != nil) {
				t.Errorf("%s has the score %v", r.Status, r.Score)
			}
		})
	}
}

// What keeps a job's content from the agent has a name of its own: only content that nobody has is
// unknown. It is given back before the last attempt, and never called the job's fault.
func TestFailuresToKeepContent(t *testing.T) {
	for _, tt := range []struct {
		name       string
		blob, keep error
		want       api.Code
	}{
		{"nobody has it", api.Refuse(api.CodeNoBlob, "gone"), nil, api.CodeNoBlob},
		{"the engine answers nonsense", errors.New("what"), nil, api.CodeNoBlob},
		{"no descriptors here", fmt.Errorf("open: %w", syscall.EMFILE), nil, api.CodeHostExhausted},
		{"the disk is full here", fmt.Errorf("write: %w", syscall.ENOSPC), nil, api.CodeHostExhausted},
		{"the agent's disk is full", nil, api.Fail(api.CodeHostExhausted, "full"), api.CodeHostExhausted},
		{"the agent ended", nil, api.Refuse(api.CodeAgentGone, "gone"), api.CodeAgentGone},
		{"the agent is away", nil, api.Fail(api.CodeAgentUnreachable, "away"), api.CodeAgentUnreachable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			for attempt, ends := range map[int]bool{1: false, 4: false, 5: true} {
				job := api.Job{Run: api.Run{StdinBlob: "sha256:" + strings.Repeat("a", 64)}}
				d := deliver(t, 3, attempt, batch.Work{MaxAttempts: 5, Job: job})
				w := &Worker{Slots: 1,
					Blob: func(context.Context, string) ([]byte, error) { return nil, tt.blob },
					Keep: func(context.Context, []byte) error { return tt.keep },
					Execute: func(context.Context, api.Run) (api.RawResult, error) {
						panic("it was executed without its content")
					}}

				start(t, w, d)
				<-d.ended
				switch r := d.result; {
				case !ends && (!d.later || r != nil):
					t.Errorf("attempt %d: %+v; want it given back", attempt, r)
				case ends && (r == nil || r.Status != api.JobError || r.Error == nil || r.Error.Code != tt.want || !r.Error.RetrySafe):
					t.Errorf("attempt %d: %+v; want an error with the code %s", attempt, r, tt.want)
				}
			}
		})
	}
}

// A worker gives signs of a job for as long as the job runs: this one runs until three have come.
func TestLongJobsAreExtended(t *testing.T) {
	d := deliver(t, 0, 1, batch.Work{})
	w := &Worker{Slots: 1, Extend: 5 * time.Millisecond, Execute: func(ctx context.Context, _ api.Run) (api.RawResult, error) {
		for d.extends.Load() < 3 {
			select {
			case <-ctx.Done():
				return api.RawResult{}, ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		return api.RawResult{Result: api.Result{Verdict: api.OK}}, nil
	}}

	start(t, w, d)
	<-d.ended
	if d.result == nil || d.result.Verdict != api.OK {
		t.Errorf("result %+v after %d signs", d.result, d.extends.Load())
	}
}

func TestACanceledBatchEndsItsJobs(t *testing.T) {
	began := make(chan struct{})
	d := deliver(t, 0, 1, batch.Work{})
	w := &Worker{Slots: 1, Execute: func(ctx context.Context, _ api.Run) (api.RawResult, error) {
		close(began)
		<-ctx.Done()
		return api.RawResult{}, ctx.Err()
	}}

	start(t, w, d)
	<-began
	w.CancelBatch("another")
	w.CancelBatch("b")
	<-d.ended
	if !d.dropped {
		t.Errorf("the job was not dropped: %+v", d.result)
	}
}

func TestDrainGivesJobsBack(t *testing.T) {
	began := make(chan struct{})
	d := deliver(t, 0, 1, batch.Work{})
	w := &Worker{Slots: 1, Drain: 10 * time.Millisecond, Healthy: func(context.Context) error { return nil },
		Execute: func(ctx context.Context, _ api.Run) (api.RawResult, error) {
			close(began)
			<-ctx.Done()
			return api.RawResult{}, ctx.Err()
		}}

	var given atomic.Bool
	none := func() Source {
		return func(ctx context.Context, _ func()) (Delivery, error) { <-ctx.Done(); return nil, ctx.Err() }
	}
	w.Urgent = none
	w.Jobs = func() Source {
		if given.Swap(true) {
			return none()
		}

		return func(ctx context.Context, _ func()) (Delivery, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			select {
			case <-began:
				<-ctx.Done()
				return nil, ctx.Err()
			default:
				return d, nil
			}
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	w.Run(ctx)
	if d.returned == "" {
		t.Errorf("the job was not given back: %+v", d.result)
	}
}

// The blobs of a job, and what it has in common with others, are fetched once. A blob that the agent has
// removed is sent again.
func TestContent(t *testing.T) {
	common, err := json.Marshal(api.Run{Language: "python", Tests: []api.Test{{ID: "1", StdinBlob: "in"}}})
	if err != nil {
		t.Fatal(err)
	}

	blobs := map[string][]byte{"common": common, "in": []byte("input")}
	var fetched, kept, runs atomic.Int64
	w := &Worker{Slots: 1,
		Blob: func(_ context.Context, digest string) ([]byte, error) {
			fetched.Add(1)
			if content, ok := blobs[digest]; ok {
				return content, nil
			}
			return nil, api.Refuse(api.CodeNoBlob, "no blob %s", digest)
		},
		Keep: func(context.Context, []byte) error { kept.Add(1); return nil },
		Execute: func(_ context.Context, r api.Run) (api.RawResult, error) {
			if r.Language != "python" || len(r.Tests) != 1 || r.KeepOutput != keepOutput || !r.Collect.None {
				t.Errorf("the run is %+v", r)
			}
			if runs.Add(1) == 3 {
				return api.RawResult{}, api.Refuse(api.CodeNoBlob, "it was removed")
			}
			return api.RawResult{Result: api.Result{Verdict: api.OK}}, nil
		}}

	var all []*delivery
	for i := range int64(3) {
		all = append(all, deliver(t, i, 1, batch.Work{Common: "common"}))
	}

	// The engine may have lost it: the job is given back, and in the end it is an error, which is no judgement.
	missing := deliver(t, 9, 1, batch.Work{Job: api.Job{Run: api.Run{StdinBlob: "missing"}}})
	always := deliver(t, 10, batch.DefaultAttempts, batch.Work{Job: api.Job{Run: api.Run{StdinBlob: "missing"}}})
	start(t, w, append(all, missing, always)...)
	for _, d := range all {
		<-d.ended
		if d.result == nil || d.result.Status != api.JobDone {
			t.Errorf("result %+v", d.result)
		}
	}

	<-missing.ended
	if !missing.later || missing.result != nil {
		t.Errorf("a job with a blob that is not there: %+v", missing.result)
	}

	<-always.ended
	if r := always.result; r == nil || r.Status != api.JobError || r.Error.Code != api.CodeNoBlob {
		t.Errorf("a job with a blob that never comes: %+v", r)
	}
	if kept.Load() != 2 {
		t.Errorf("the agent got the blob %d times, want 2: once, and after it removed it", kept.Load())
	}
}

func TestLargeResultsAreCut(t *testing.T) {
	res, err := ok(t.Context(), api.Run{})
	if err != nil {
		t.Fatal(err)
	}

	out := judged(api.JobResult{}, batch.Work{}, res)
	if len(out.Result.Stdout) != int(keepOutput) || !out.Result.StdoutTruncated || out.Result.StderrTruncated {
		t.Errorf("stdout has %d bytes, cut: %v", len(out.Result.Stdout), out.Result.StdoutTruncated)
	}

	tests := make([]api.TestResult, 3000)
	for i := range tests {
		tests[i] = api.TestResult{ID: "t", Result: api.Result{Stdout: []byte(strings.Repeat("y", 4000))}}
	}

	text, err := json.Marshal(tests)
	if err != nil {
		t.Fatal(err)
	}

	for name, large := range map[string]api.RawResult{"tests": {Result: api.Result{Tests: tests}}, "tests in JSON": {Tests: text}} {
		body := judged(api.JobResult{}, batch.Work{}, large).encode()
		var back api.JobResult
		if err := json.Unmarshal(body, &back); err != nil {
			t.Fatal(err)
		}
		if len(body) > batch.MaxWork || back.Result == nil || len(back.Result.Tests) != 3000 || !back.Result.Tests[0].Result.StdoutTruncated {
			t.Errorf("%s: %d bytes, result %v", name, len(body), back.Result != nil)
		}
	}

	if len(tests[0].Result.Stdout) != 4000 {
		t.Error("the tests of the result itself were cut")
	}
}

// Tests that come as JSON are sent as they came.
func TestResultsWithTestsInJSON(t *testing.T) {
	res := api.RawResult{Result: api.Result{Verdict: api.OK, LimitsHit: []string{}, Summary: &api.Summary{Tests: 1, Accepted: 1}}}
	decoded := res
	decoded.Result.Tests = []api.TestResult{{ID: "1", Answer: api.Accepted, Result: api.Result{Verdict: api.OK, Stdout: api.Bytes("a\n")}}}
	var err error
	if res.Tests, err = json.Marshal(decoded.Result.Tests); err != nil {
		t.Fatal(err)
	}

	for _, summary := range []bool{false, true} {
		var lines [2]api.JobResult
		for i, r := range []api.RawResult{res, decoded} {
			body := judged(api.JobResult{ID: "a", Digest: "d"}, batch.Work{SummaryOnly: summary}, r).encode()
			if err := json.Unmarshal(body, &lines[i]); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			lines[i].Finished = ""
		}
		if !reflect.DeepEqual(lines[0], lines[1]) || summary != (lines[0].Result == nil) || !summary && len(lines[0].Result.Tests) != 1 {
			t.Errorf("%+v\nis not\n%+v", lines[0], lines[1])
		}
	}
}
