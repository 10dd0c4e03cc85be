package batches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/service/runs"
)

// config judges each job at once, with the verdict ok.
func config(t *testing.T, dir string) Config {
	t.Helper()
	var n atomic.Int64
	return Config{
		Dir: dir, Keep: time.Hour, Bytes: 1 << 30, Drain: time.Second, Log: slog.New(slog.DiscardHandler),
		NewID: func() string { return fmt.Sprintf("batch%d", n.Add(1)) }, Alone: func() bool { return true }, Slots: func() int { return 2 },
		Permit: func(_ string, r api.Run) ([]string, error) { return nil, nil },
		Pin:    func(string, []string) (func(), error) { return func() {}, nil },
		Execute: func(context.Context, string, api.Run, runs.Origin) (api.Result, error) {
			return api.Result{Verdict: api.OK}, nil
		},
		Healthy: func(context.Context) error { return nil }, Ended: func(api.JobStatus, int64) {},
	}
}

// start opens a store that judges until stop is called.
func start(t *testing.T, cfg Config) (s *Store, stop func()) {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Start(ctx)
	stop = func() { cancel(); s.Wait() }
	t.Cleanup(stop)
	return s, stop
}

func someJobs(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, `{"id": "%d", "image": "x", "argv": ["%d"]}`+"\n", i, i)
	}
	return b.String()
}

func take(t *testing.T, b *Batch, lines string) api.JobsTaken {
	t.Helper()
	taken, err := b.Take(NewLines(strings.NewReader(lines)), Limits{}, false)
	if err != nil {
		t.Fatal(err)
	}
	return taken
}

// A reader collects lines of results.
type reader struct{ strings.Builder }

func (*reader) Flush() error { return nil }
func (*reader) Beat() error  { return nil }

// end closes a batch and returns its lines when it has ended.
func end(t *testing.T, b *Batch) []string {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	var r reader
	if all, err := b.Results(t.Context(), Reading{Follow: true}, &r); err != nil || !all {
		t.Fatalf("all %v, %v", all, err)
	}
	return strings.Split(strings.TrimSuffix(r.String(), "\n"), "\n")
}

// A crash leaves a part of a line in the input and in the results. Neither is read, and each job gets one result.
func TestTornLinesAreCutOff(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, config(t, dir))
	b, err := s.Create("", "", api.BatchRequest{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}

	take(t, b, someJobs(0, 10))
	for b.Status().Results < 10 {
		time.Sleep(time.Millisecond)
	}

	stop()
	for name, torn := range map[string]string{inputName: `{"id": "10", "ima`, resultsName: `{"id":"9","index":9,"sta`} {
		f, err := os.OpenFile(b.file(name), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(torn)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Mkdir(filepath.Join(dir, "half-made"), 0o700); err != nil {
		t.Fatal(err)
	}

	s, _ = start(t, config(t, dir))
	if b, err = s.Get("", b.id); err != nil || b.Status().Jobs != 10 {
		t.Fatalf("%v, %+v", err, b.Status())
	}
	if got := take(t, b, someJobs(5, 10)); got.Taken != 5 || got.Repeated != 5 {
		t.Errorf("%+v", got)
	}
	if lines := end(t, b); len(lines) != 15 {
		t.Errorf("%d lines", len(lines))
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v: a directory without a state was left", names, err)
	}
}

// A file of results whose jobs are others is never continued.
func TestResultsOfOtherJobsAreNotContinued(t *testing.T) {
	dir := t.TempDir()
	s, stop := start(t, config(t, dir))
	b, err := s.Create("", "", api.BatchRequest{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}

	take(t, b, someJobs(0, 3))
	for b.Status().Results < 3 {
		time.Sleep(time.Millisecond)
	}

	stop()
	if err := os.WriteFile(b.file(inputName), []byte(someJobs(1, 3)), 0o600); err != nil {
		t.Fatal(err)
	}

	var log testenv.Log
	cfg := config(t, dir)
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	start(t, cfg)

	refusal := "is not the one that the results are of"
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log.String(), refusal); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log: %s", log.String())
		}
	}
}

// A disk that takes no more jobs loses none that was counted as taken.
func TestAFullDiskTakesNothing(t *testing.T) {
	s, _ := start(t, config(t, t.TempDir()))
	b, err := s.Create("", "", api.BatchRequest{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}

	take(t, b, someJobs(0, 5))

	// Another request writes three jobs, and the disk takes neither them nor what follows.
	f, err := os.Open(b.file(inputName)) // read-only: a write fails
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	broken := &taking{Batch: b, f: f}
	if err := broken.write("5", "sha256:0011223344556677", []byte("{}"), nil); !api.HasCode(err, api.CodeHostExhausted) {
		t.Errorf("a job that cannot be written: %v", err)
	}

	w, err := os.OpenFile(b.file(inputName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	one, other := &taking{Batch: b, f: w}, &taking{Batch: b, f: w}
	for i, k := range []*taking{one, other} {
		if err := k.write(fmt.Sprintf("lost-%d", i), "sha256:0011223344556677", []byte(`{"id":"lost"}`), nil); err != nil {
			t.Fatal(err)
		}
	}

	b.writing.Lock()
	one.undo() // as if its fsync had failed
	one.mine = 0
	b.writing.Unlock()
	if err := other.commit(); !api.HasCode(err, api.CodeHostExhausted) || other.taken.Taken != 0 {
		t.Errorf("a job that was lost counts as %d taken: %v", other.taken.Taken, err)
	}
	if got := take(t, b, someJobs(3, 5)); got.Taken != 3 || got.Repeated != 2 {
		t.Errorf("afterwards: %+v", got)
	}
	if lines := end(t, b); len(lines) != 8 || s.Load().Left != 0 {
		t.Errorf("%d lines, %+v", len(lines), s.Load())
	}
}

// What has ended is removed when its time has come, an idle batch is closed, and the bytes are counted.
func TestOldBatchesAreRemoved(t *testing.T) {
	cfg := config(t, t.TempDir())
	s, _ := start(t, cfg)
	old, err := s.Create("ann", "", api.BatchRequest{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}

	idle, err := s.Create("ann", "", api.BatchRequest{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}

	take(t, old, someJobs(0, 4))
	end(t, old)
	if l := s.Load(); l.Unended != 1 || l.Bytes != old.Status().Bytes || l.Bytes == 0 {
		t.Errorf("%+v, %+v", l, old.Status())
	}
	if err := idle.Remove(); !api.HasCode(err, api.CodeConflict) {
		t.Errorf("a batch that has not ended: %v", err)
	}

	s.tidy(time.Now().Add(maxIdle / 2))
	if _, err := s.Get("ann", old.id); !api.HasCode(err, api.CodeNotFound) {
		t.Errorf("after its time: %v", err)
	}
	if got := idle.Status().State; got != api.BatchOpen {
		t.Errorf("after half of the time the idle batch is %s", got)
	}

	s.tidy(time.Now().Add(2 * maxIdle))
	if got := idle.Status().State; got == api.BatchOpen {
		t.Error("an idle batch stays open")
	}
	if l := s.Load(); l.Bytes != 0 {
		t.Errorf("left: %+v", l)
	}
}

// Any number of lines of results is found by its place, in pages of any size.
func TestResultsByPlace(t *testing.T) {
	s, _ := start(t, config(t, t.TempDir()))
	b, err := s.Create("", "", api.BatchRequest{Ordered: true, Keep: api.KeepSummary}, Limits{})
	if err != nil {
		t.Fatal(err)
	}

	const n = 3*markLines + 7
	take(t, b, someJobs(0, n))
	end(t, b)

	for _, size := range []int64{1000, 1024, 999} {
		after := int64(0)
		for {
			var r reader
			all, err := b.Results(t.Context(), Reading{After: after, Limit: size}, &r)
			if err != nil {
				t.Fatal(err)
			}

			for line := range strings.Lines(r.String()) {
				if !strings.HasPrefix(line, fmt.Sprintf(`{"id":"%d",`, after)) {
					t.Fatalf("line %d: %.100s", after, line)
				}
				after++
			}

			if all {
				break
			}
		}

		if after != n {
			t.Errorf("%d lines in pages of %d", after, size)
		}
	}

	for _, after := range []int64{markLines - 1, markLines, 2*markLines + 1, n - 1, n, n + 5} {
		var r reader
		if _, err := b.Results(t.Context(), Reading{After: after, Follow: true}, &r); err != nil ||
			int64(strings.Count(r.String(), "\n")) != max(0, n-after) {
			t.Errorf("after %d: %d lines, %v", after, strings.Count(r.String(), "\n"), err)
		}
	}
}

// The bounds of all batches hold for every owner together.
func TestBoundsOfAllBatches(t *testing.T) {
	cfg := config(t, t.TempDir())
	cfg.Alone = func() bool { return false }
	s, _ := start(t, cfg)
	open := map[string]int{}
	for _, owner := range []string{"greedy", "other", "third"} {
		for {
			if _, err := s.Create(owner, "", api.BatchRequest{}, Limits{}); err != nil {
				if !api.HasCode(err, api.CodeBatchesFull) {
					t.Error(err)
				}
				break
			}
			open[owner]++
		}
	}

	if open["greedy"] != MaxBatches/2 || open["other"] != MaxBatches/4 || open["third"] == 0 {
		t.Errorf("open: %v", open)
	}

	b := s.List("third")[0]
	if _, err := b.Take(NewLines(io.LimitReader(endless{}, 4*MaxLine)), Limits{Bytes: MaxLine}, true); !api.HasCode(err,
		api.CodeBatchesFull) && err != nil {
		t.Error(err)
	}
	if _, err := s.Create("third", "", api.BatchRequest{Defaults: api.Run{Source: make([]byte, MaxRequest)}},
		Limits{Batches: 9}); !api.HasCode(err, api.CodeTooLarge) {
		t.Errorf("a large request: %v", err)
	}
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
