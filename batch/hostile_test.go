package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/batch"
)

// A heldQueue has results from before the batch was resumed. It sends each once, and executes nothing.
type heldQueue struct {
	*fakeQueue
	held []batch.Message
	sent chan struct{} // closed when all were sent
}

func (q *heldQueue) UnderWay(context.Context, string) (map[int64]bool, error) {
	all := map[int64]bool{}
	for _, m := range q.held {
		all[m.Index] = true
	}
	return all, nil
}

func (q *heldQueue) Results(ctx context.Context, _ string, out chan<- batch.Message) {
	for _, m := range q.held {
		select {
		case out <- m:
		case <-ctx.Done():
			return
		}
	}
	close(q.sent)
	<-ctx.Done()
}

// A lateReader has nothing to read before the channel is closed.
type lateReader struct {
	after <-chan struct{}
	io.Reader
}

func (r lateReader) Read(p []byte) (int, error) {
	<-r.after
	return r.Reader.Read(p)
}

// resultOf is what a worker sends of a job of a line, after change.
func resultOf(t *testing.T, line string, index int64, change func(body string) string) batch.Message {
	t.Helper()
	j, err := decode.Job([]byte(line))
	if err != nil {
		t.Fatal(err)
	}

	score := 1.0
	body, err := json.Marshal(api.JobResult{ID: j.ID, Index: index, Status: api.JobDone, Verdict: api.OK, Score: &score,
		Digest: batch.Digest(j, "")})
	if err != nil {
		t.Fatal(err)
	}

	return batch.Message{Batch: "b", Index: index, Sequence: uint64(index) + 1,
		Body: []byte(change(string(body)))} //nolint:gosec // it is small
}

// runHeld runs a batch whose results the queue has, and returns its lines.
func runHeld(t *testing.T, lines []string, held []batch.Message, late bool) []api.JobResult {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out")
	out, done, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}

	q := &heldQueue{fakeQueue: newFakeQueue(1), held: held, sent: make(chan struct{})}
	after := make(chan struct{})
	if close(after); late {
		after = q.sent
	}

	// The byte order mark is looked for at once: the first line is there.
	in := io.MultiReader(strings.NewReader("\n\n\n\n"), lateReader{after, strings.NewReader(strings.Join(lines, "\n"))})
	c := coordinator(q, in, out, done)
	c.Resumed = true
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	_, err = c.Run(ctx)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	return read(t, name)
}

// A givingBack queue gives a job back with a number of attempts, each time.
type givingBack struct {
	*fakeQueue
	attempts []int
	released chan batch.Message
}

func (q *givingBack) Release(_ context.Context, m batch.Message) error {
	q.released <- m
	return nil
}

func (q *givingBack) Results(ctx context.Context, id string, out chan<- batch.Message) {
	for n := 0; ; n++ {
		select {
		case m := <-q.released:
			var w batch.Work
			if err := json.Unmarshal(m.Body, &w); err != nil {
				panic(err)
			}
			if n > 0 {
				q.attempts = append(q.attempts, m.Before)
			}

			score := 1.0
			var res any = api.JobResult{ID: w.Job.ID, Index: w.Index, Status: api.JobDone, Verdict: api.OK, Score: &score, Digest: w.Digest}
			if n < 4 {
				res = batch.HandBack{ID: w.Job.ID, Index: w.Index, Digest: w.Digest, Reason: "not now", Attempts: []int{2, 0, -7, 1000}[n]}
			}

			body, err := json.Marshal(res)
			if err != nil {
				panic(err)
			}

			select {
			case out <- batch.Message{Batch: id, Index: m.Index, Body: body}:
			case <-ctx.Done():
			}

		case <-ctx.Done():
			return
		}
	}
}

// What a worker says of the attempts of a job that it gives back is kept, and never less than before.
func TestAttemptsOfAJobThatIsGivenBackCount(t *testing.T) {
	out, done, err := batch.OpenOutput(filepath.Join(t.TempDir(), "out"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &givingBack{fakeQueue: newFakeQueue(1), released: make(chan batch.Message, 1)}
	_, err = coordinator(q, strings.NewReader(`{"id": "a", "language": "python", "source": "1"}`), out, done).Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	if want := []int{2, 2, 2, batch.DefaultAttempts}; !slices.Equal(q.attempts, want) {
		t.Errorf("the job was released again with %v attempts, want %v", q.attempts, want)
	}
}

// Workers ended all jobs while no coordinator ran: their results come before the lines are read.
func TestResultsThatComeBeforeTheirLinesCount(t *testing.T) {
	var lines []string
	var held []batch.Message
	for i := range int64(16) { // a whole window
		lines = append(lines, fmt.Sprintf(`{"id": "job-%d", "language": "python", "source": "1"}`, i))
		held = append(held, resultOf(t, lines[i], i, func(body string) string { return body }))
	}

	all := runHeld(t, lines, held, true)
	if len(all) != len(lines) {
		t.Fatalf("%d of %d jobs have results", len(all), len(lines))
	}

	for _, r := range all {
		if r.Status != api.JobDone {
			t.Errorf("job %d is %s: %v", r.Index, r.Status, r.Error)
		}
	}
}

// What a worker sends is a line of the file only if it is one, and means one thing.
func TestWhatIsNoResultIsAnError(t *testing.T) {
	const line = `{"id": "job-0", "language": "python", "source": "1"}`
	for name, change := range map[string]func(body string) string{
		"more lines":          func(b string) string { return strings.ReplaceAll(b, ",", ",\n") },
		"a carriage return":   func(b string) string { return strings.Replace(b, ",", ",\r", 1) },
		"no score":            func(b string) string { return strings.Replace(b, `"score":1`, `"points":1`, 1) },
		"a score and refused": func(b string) string { return strings.Replace(b, `"done"`, `"refused"`, 1) },
		"an error and done":   func(b string) string { return strings.Replace(b, `"score":1`, `"score":1,"error":{}`, 1) },
		"another index":       func(b string) string { return strings.Replace(b, `"index":0`, `"index":1`, 1) },
		"two scores":          func(b string) string { return strings.Replace(b, `"score":1`, `"score":1,"score":0`, 1) },
		"two in a result":     func(b string) string { return strings.Replace(b, `"score":1`, `"score":1,"result":{"a":1,"a":2}`, 1) },
		"no JSON in a result": func(b string) string { return strings.Replace(b, `"score":1`, `"score":1,"result":{"a":[1}}`, 1) },
		"no text":             func(b string) string { return strings.Replace(b, `"verdict":"ok"`, "\"verdict\":\"\xff\"", 1) },
		"nothing":             func(string) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			all := runHeld(t, []string{line}, []batch.Message{resultOf(t, line, 0, change)}, false)
			if len(all) != 1 || all[0].Status != api.JobError || all[0].Score != nil {
				t.Errorf("results %+v", all)
			}
		})
	}
}

// What a problem decides is refused in a job that names one: each of these jobs, and not the plain one.
func TestProblemsOfJobsDecide(t *testing.T) {
	out, done, err := batch.OpenOutput(filepath.Join(t.TempDir(), "out"), false, nil)
	if err != nil {
		t.Fatal(err)
	}

	in := `{"id": "plain", "language": "python", "source": "1", "problem": "p"}` + "\n"
	fields := []string{`"tests": [{"id": "1"}]`, `"compare": {"how": "exact"}`, `"passes": 2`, `"input_file": "a"`, `"output_file": "a"`}
	for i, field := range fields {
		in += fmt.Sprintf(`{"id": "%d", "language": "python", "source": "1", "problem": "p", %s}`+"\n", i, field)
	}

	c := coordinator(newFakeQueue(1), strings.NewReader(in), out, done)
	c.Problem = func(context.Context, string) (api.Run, string, error) {
		return api.Run{Tests: []api.Test{{ID: "1"}}}, "p", nil
	}
	p, err := c.Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	if p.Statuses[api.JobDone] != 1 || p.Statuses[api.JobRefused] != int64(len(fields)) {
		t.Errorf("progress %+v", p)
	}
}

// Defaults are those of jobs with a problem, too, and Prepare knows their language.
func TestDefaultsReachPrepareAndProblems(t *testing.T) {
	out, done, err := batch.OpenOutput(filepath.Join(t.TempDir(), "out"), false, nil)
	if err != nil {
		t.Fatal(err)
	}

	in := `{"defaults": {"language": "python", "limits": {"memory": "64M"}}}` + "\n" +
		`{"id": "a", "source": "1"}` + "\n" + `{"id": "b", "source": "1", "problem": "p"}` + "\n"
	q := newFakeQueue(1)
	c := coordinator(q, strings.NewReader(in), out, done)
	c.Put = func(context.Context, api.Run) (string, error) { return "d", nil }
	c.Problem = func(context.Context, string) (api.Run, string, error) { return api.Run{}, "p", nil }
	c.Prepare = func(_ context.Context, j *api.Job) error {
		if j.Language != "python" || j.Problem != "" && j.Limits.Memory != 64*api.MiB {
			t.Errorf("job %s has the language %q and the limits %+v", j.ID, j.Language, j.Limits)
		}
		return nil
	}

	p, err := c.Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	if p.Statuses[api.JobDone] != 2 {
		t.Errorf("progress %+v", p)
	}
}

// What a line has too much of is not in its result.
func TestHeadsOfRefusedJobs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	out, done, err := batch.OpenOutput(name, false, nil)
	if err != nil {
		t.Fatal(err)
	}

	in := `{"source": "1"}` + "\n" + `{"id": "` + strings.Repeat("x", 1000) + `"}` + "\n" + `{"id": "a", "meta": "` +
		strings.Repeat("x", api.MaxJobMeta) + `"}` + "\n"
	c := coordinator(newFakeQueue(1), strings.NewReader(in), out, done)
	c.Ordered = true
	_, err = c.Run(t.Context())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}

	for i, want := range []struct{ id, message string }{{"line 1", "the job has no id"}, {"line 2", "an id of 1000 bytes"},
		{"a", "meta has 65538 bytes"}} {
		if r := read(t, name)[i]; r.ID != want.id || r.Meta != nil || r.Error == nil || !strings.Contains(r.Error.Message, want.message) {
			t.Errorf("%.200v; want %v", r, want)
		}
	}
}
