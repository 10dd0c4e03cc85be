package batch_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

// jobLines are n jobs, every tenth of which is broken, in one of three ways.
func jobLines(n int) string {
	var b strings.Builder
	for i := range n {
		switch {
		case i%30 == 9:
			b.WriteString("{\"id\": \"broken\n")
		case i%30 == 19:
			fmt.Fprintf(&b, `{"id": "job-%d", "language": "python", "source": "1", "unknown": 1}`+"\n", i)
		case i%30 == 29:
			b.WriteString(`{"id": "job-0", "language": "python", "source": "1"}` + "\n") // the id is used twice
		default:
			fmt.Fprintf(&b, `{"id": "job-%d", "language": "python", "source": "print(%d)", "meta": {"n": %d}, "urgent": %v}`+
				"\n\n", i, i, i, i%7 == 3)
		}
	}

	return b.String()
}

func refused(i int) bool { return i%10 == 9 }

// read reads a file of results.
func read(t *testing.T, name string) []api.JobResult {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	var all []api.JobResult
	in := bufio.NewScanner(bytes.NewReader(text))
	for in.Scan() {
		var r api.JobResult
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatalf("line %d: %v: %.200s", len(all)+1, err, in.Bytes())
		}
		all = append(all, r)
	}

	return all
}

// checkResults checks that each job has exactly one result, the right one.
func checkResults(t *testing.T, all []api.JobResult, n int) {
	t.Helper()
	seen := map[int64]bool{}
	for _, r := range all {
		if seen[r.Index] {
			t.Errorf("job %d has two results", r.Index)
		}

		seen[r.Index] = true
		want := api.JobDone
		if refused(int(r.Index)) {
			want = api.JobRefused
		}
		if r.Status != want {
			t.Errorf("job %d is %s (%v), want %s", r.Index, r.Status, r.Error, want)
		}
		if (r.Status == api.JobDone) != (r.Score != nil) || (r.Status == api.JobDone) == (r.Error != nil) {
			t.Errorf("job %d, %s: score %v, error %v", r.Index, r.Status, r.Score, r.Error)
		}
		if want == api.JobDone && (r.ID != fmt.Sprintf("job-%d", r.Index) || string(r.Meta) != fmt.Sprintf(`{"n":%d}`, r.Index)) {
			t.Errorf("job %d has the id %s and the meta %s", r.Index, r.ID, r.Meta)
		}
	}

	if len(seen) != n {
		t.Errorf("%d of %d jobs have results", len(seen), n)
	}
}

func coordinator(q batch.Queue, in io.Reader, out *batch.Output, done *batch.Recorded) *batch.Coordinator {
	c := &batch.Coordinator{Queue: q, Input: batch.NewInput(in, 1<<20), Output: out, Done: done, ID: "b", Pool: "p",
		LostAfter: 20 * time.Millisecond, Window: func() int { return 16 }}
	if all, ok := in.(*strings.Reader); ok {
		again := *all
		c.Ahead = batch.NewInput(&again, 1<<20)
	}
	return c
}

func TestEachJobHasOneResult(t *testing.T) {
	const jobs = 300
	for _, tt := range []struct {
		name         string
		lose, repeat float64
		ordered      bool
	}{{"a good queue", 0, 0, false}, {"a queue that repeats", 0, 0.5, false}, {"a queue that loses", 0.3, 0, false},
		{"both, ordered", 0.3, 0.5, true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "out")
			out, done, err := batch.OpenOutput(name, false, nil)
			if err != nil {
				t.Fatal(err)
			}

			q := newFakeQueue(1)
			q.lose, q.repeat, q.giveBack = tt.lose, tt.repeat, 0.2
			c := coordinator(q, strings.NewReader(jobLines(jobs)), out, done)
			c.Ordered = tt.ordered
			kept := 0
			c.KeepAgain = func(context.Context) error { kept++; return nil }
			p, err := c.Run(t.Context())
			if err := errors.Join(err, out.Close()); err != nil {
				t.Fatal(err)
			}

			all := read(t, name)
			checkResults(t, all, jobs)
			if kept == 0 {
				t.Error("what jobs have in common was not kept again")
			}
			if p.Recorded != jobs || !p.AllRead || p.Statuses[api.JobDone] != jobs*9/10 {
				t.Errorf("progress %+v", p)
			}
			if q.maximum > 2*16 {
				t.Errorf("%d jobs were released at once, with windows of 16 for urgent and other jobs", q.maximum)
			}
			if tt.ordered && !slices.IsSortedFunc(all, func(a, b api.JobResult) int { return int(a.Index - b.Index) }) {
				t.Error("the results are not in the order of the jobs")
			}
		})
	}
}

// A batch is interrupted again and again, and its file is cut in the middle of a line as by a crash.
func TestAResumedBatchEqualsAnUndisturbedOne(t *testing.T) {
	const jobs = 400
	name := filepath.Join(t.TempDir(), "out")
	q := newFakeQueue(2)
	q.lose, q.repeat = 0.1, 0.1

	for attempt := 0; ; attempt++ {
		out, done, err := batch.OpenOutput(name, attempt > 0, nil)
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		if attempt > 40 {
			cancel()
			ctx, cancel = context.WithCancel(t.Context())
		}

		c := coordinator(q, strings.NewReader(jobLines(jobs)), out, done)
		c.Resumed = attempt > 0
		_, err = c.Run(ctx)
		cancel()
		if cerr := out.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if err == nil {
			t.Logf("%d interruptions", attempt)
			break
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}

		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(text); attempt%2 == 0 && n > 10 {
			if err := os.WriteFile(name, text[:n-7], 0o644); err != nil { // within the last line
				t.Fatal(err)
			}
		}
	}

	checkResults(t, read(t, name), jobs)

	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	executed := len(q.executed)
	out, done, err := batch.OpenOutput(name, true, nil)
	if err != nil {
		t.Fatal(err)
	}

	p, err := coordinator(q, strings.NewReader(jobLines(jobs)), out, done).Run(t.Context())
	after, rerr := os.ReadFile(name)
	if err := errors.Join(err, rerr, out.Close()); err != nil || !bytes.Equal(before, after) ||
		len(q.executed) != executed || p.Recorded != jobs {
		t.Errorf("a complete batch that is resumed: %v, progress %+v, the file is the same: %v", err, p, bytes.Equal(before, after))
	}
}

func TestResumeRefusesAnotherInput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	run := func(resume bool, text string) error {
		out, done, err := batch.OpenOutput(name, resume, nil)
		if err != nil {
			return err
		}
		_, err = coordinator(newFakeQueue(3), strings.NewReader(text), out, done).Run(t.Context())
		return errors.Join(err, out.Close())
	}
	if err := run(false, jobLines(20)); err != nil {
		t.Fatal(err)
	}

	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	err = run(true, strings.Replace(jobLines(20), "print(3)", "print(4)", 1))
	if less := run(true, jobLines(19)); !errors.Is(err, batch.ErrChanged) || !strings.Contains(err.Error(), "job 4 of") ||
		!errors.Is(less, batch.ErrChanged) {
		t.Errorf("a changed input: %v; one with fewer jobs: %v", err, less)
	}
	if err := run(false, jobLines(20)); !errors.Is(err, batch.ErrExists) {
		t.Errorf("without resume: %v", err)
	}

	// Meta and labels are not work: they may change.
	if err := run(true, strings.Replace(jobLines(20), `{"n": 3}`, `{"n": 4}`, 1)); err != nil {
		t.Errorf("another meta: %v", err)
	}
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file of results has changed (%v)", err)
	}
}

func TestRetryJudgesAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	lines := []string{
		`{"id":"a","index":0,"status":"error","error":{"code":"poison","message":"","retry_safe":true},"digest":"sha256:00"}`,
		`{"id":"b","index":1,"status":"done","score":0,"digest":"%s"}`,
		`{"id":"c","index":2,"sta`,
	}

	second := api.Job{ID: "b", Run: api.Run{Language: "python", Source: api.Bytes("2")}}
	lines[1] = fmt.Sprintf(lines[1], batch.Digest(second, ""))
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}

	out, done, err := batch.OpenOutput(name, true, []api.JobStatus{api.JobError})
	if err != nil {
		t.Fatal(err)
	}
	if done.Len() != 1 || done.Has(0) || !done.Has(1) || done.Has(2) {
		t.Errorf("recorded: %+v", done)
	}

	var text strings.Builder
	for i, id := range []string{"a", "b", "c"} {
		fmt.Fprintf(&text, `{"id": %q, "language": "python", "source": "%d"}`+"\n", id, i+1)
	}

	q := newFakeQueue(4)
	q.reliable = true // a job whose result is under way when something is lost is executed again
	_, err = coordinator(q, strings.NewReader(text.String()), out, done).Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}

	all := read(t, name)
	if len(all) != 3 || all[0].ID != "b" || q.executed[1] != 0 || q.executed[0] != 1 || q.executed[2] != 1 {
		t.Errorf("results %+v, executed %v", all, q.executed)
	}
}

func TestTwoProcessesDoNotWriteOneFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, _, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := batch.OpenOutput(name, true, nil); !errors.Is(err, batch.ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}

	out, _, err = batch.OpenOutput(name, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestACanceledBatch(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, done, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}

	q := newFakeQueue(5)
	q.never = true
	canceled := make(chan struct{})
	c := coordinator(q, strings.NewReader(jobLines(100)), out, done)
	c.Canceled = canceled
	time.AfterFunc(50*time.Millisecond, func() { close(canceled) })
	p, err := c.Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}

	all := read(t, name)
	if len(all) != 100 || p.Statuses[api.JobCanceled] != 90 || p.Statuses[api.JobRefused] != 10 || !q.canceled {
		t.Errorf("%d results, progress %+v, the queue was asked: %v", len(all), p, q.canceled)
	}
}

func TestStopFinishesWhatIsReleased(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, done, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}

	stop := make(chan struct{})
	r, w := io.Pipe() // its input never ends
	defer w.Close()

	go io.WriteString(w, jobLines(5)) //nolint:errcheck // the pipe is closed at the end of the test
	q := newFakeQueue(6)
	q.taken = true
	c := coordinator(q, r, out, done)
	c.Stop = stop
	c.Report = func(p batch.Progress) {
		if p.Read == 5 && stop != nil {
			close(stop)
			stop = nil
		}
	}

	p, err := c.Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	if all := read(t, name); len(all) != 5 || p.AllRead {
		t.Errorf("%d results, progress %+v", len(all), p)
	}
}

// What no worker has is withdrawn, so that the end does not wait for it.
func TestStopWithdrawsWhatNoWorkerHas(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, done, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}

	q := newFakeQueue(9)
	q.never = true
	stop := make(chan struct{})
	c := coordinator(q, strings.NewReader(jobLines(50)), out, done)
	c.Stop, c.Working = stop, func() int { return 0 }
	time.AfterFunc(50*time.Millisecond, func() { close(stop) })
	began := time.Now()
	p, err := c.Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}

	there, err := q.UnderWay(t.Context(), "b")
	if err != nil || len(there) != 0 || p.Statuses[api.JobDone] != 0 || time.Since(began) > time.Minute {
		t.Errorf("%d jobs are left in the queue (%v) after %v, progress %+v", len(there), err, time.Since(began), p)
	}
}

func TestDefaults(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, done, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}

	text := "\ufeff" + `{"defaults": {"language": "python", "tests": [{"stdin": "1"}]}}
{"id": "a", "source": "1"}
{"id": "b", "source": "2", "limits": {"cpu": "1s"}}
`
	var common api.Run
	c := coordinator(newFakeQueue(7), strings.NewReader(text), out, done)
	c.Put = func(_ context.Context, r api.Run) (string, error) { common = r; return "d", nil }
	p, err := c.Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	if p.Recorded != 2 || p.Statuses[api.JobDone] != 2 || common.Language != "python" || len(common.Tests) != 1 {
		t.Errorf("progress %+v, common %+v: %+v", p, common, read(t, name))
	}
}

func TestInputIsReadAsTheWindowOpens(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, done, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}

	q := newFakeQueue(8)
	q.never = true
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()

	p, err := coordinator(q, strings.NewReader(jobLines(5000)), out, done).Run(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || p.Read > 2*18 { // that of urgent jobs is another one; broken lines do not fill it
		t.Errorf("%v: %d jobs were read with a window of 16 and no result", err, p.Read)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
