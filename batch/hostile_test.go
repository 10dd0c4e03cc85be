package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
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
	body, err := json.Marshal(api.JobResult{ID: j.ID, Index: index, Status: api.JobDone, Verdict: api.OK, Score: &score, Digest: batch.Digest(j, "")})
	if err != nil {
		t.Fatal(err)
	}
	return batch.Message{Batch: "b", Index: index, Sequence: uint64(index) + 1, Body: []byte(change(string(body)))} //nolint:gosec // it is small
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
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	_, err = c.Run(ctx)
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	return read(t, name)
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
