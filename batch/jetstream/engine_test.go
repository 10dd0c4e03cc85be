package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/jetstream"
)

func start(t *testing.T, c jetstream.ServerConfig) (*jetstream.Server, *jetstream.Engine) {
	t.Helper()
	c.Dir, c.Pool = t.TempDir(), "p"
	if c.Listen == "" { // the test connects within the process
		_, public, err := jetstream.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		c.Listen, c.Workers = "127.0.0.1:0", []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}
	}

	s, err := jetstream.StartServer(c)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Stop)
	e, err := jetstream.Connect(jetstream.Target{Server: s, Pool: "p"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(e.Close)
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, e
}

func nothing() {}

func message(i int64) batch.Message {
	return batch.Message{Batch: "b", Index: i, Pool: "p", Attempt: 1, Body: fmt.Appendf(nil, "job %d", i)}
}

// results waits for the results of n jobs.
func results(t *testing.T, e *jetstream.Engine, n int) map[int64]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	out := make(chan batch.Message)
	var follower sync.WaitGroup
	follower.Go(func() { e.Results(ctx, "b", out) })
	all := map[int64]string{}
	for len(all) < n {
		select {
		case m := <-out:
			if m.Body != nil {
				all[m.Index] = string(m.Body)
			}
		case <-ctx.Done():
			t.Fatalf("%d of %d results", len(all), n)
		}
	}

	cancel()
	follower.Wait()
	return all
}

func TestJobsAndResults(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	const jobs = 200
	for i := range int64(jobs) {
		if err := e.Release(t.Context(), message(i)); err != nil {
			t.Fatal(err)
		}
	}

	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != jobs {
		t.Fatalf("%d jobs are under way (%v)", len(there), err)
	}

	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	var executed atomic.Int64
	for range 8 {
		workers.Go(func() {
			s := e.Source(false)
			for {
				d, err := s.Next(ctx, nothing)
				if err != nil {
					return
				}
				executed.Add(1)
				if want := fmt.Sprintf("job %d", d.Index); string(d.Body) != want || d.Attempt != 1 || d.Batch != "b" {
					t.Errorf("got %q, attempt %d", d.Body, d.Attempt)
				}
				// Not under ctx: the result can be there, and ctx canceled, before the answer is.
				if err := d.Done(t.Context(), fmt.Appendf(nil, "result %d", d.Index)); err != nil {
					t.Error(err)
				}
			}
		})
	}

	all := results(t, e, jobs)
	stop()
	workers.Wait()
	for i := range int64(jobs) {
		if all[i] != fmt.Sprintf("result %d", i) {
			t.Errorf("job %d has the result %q", i, all[i])
		}
	}

	if n := executed.Load(); n != jobs {
		t.Errorf("%d executions of %d jobs", n, jobs)
	}
	if err := e.End(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != 0 {
		t.Errorf("after the end %d are under way (%v)", len(there), err)
	}
}

// A batch that is begun again has the same name. What it releases is no repetition.
func TestABatchOfTheSameNameIsReleased(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	for _, epoch := range []string{"a", "b"} {
		m := message(0)
		m.Epoch = epoch
		if err := e.Release(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if there, err := e.UnderWay(t.Context(), "b"); err != nil || !there[0] {
			t.Errorf("%s: the job is not under way (%v)", epoch, err)
		}
		if err := e.End(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
	}
}

// A worker waits for its engine, and for one that comes back with other streams.
func TestAWorkerWaitsForItsEngine(t *testing.T) {
	seed, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	w, err := jetstream.Connect(jetstream.Target{URL: "nats://" + address, Worker: "w", Pool: "p", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	s := w.Source(false)
	for range 2 {
		server, err := jetstream.StartServer(jetstream.ServerConfig{Dir: t.TempDir(), Pool: "p", Listen: address,
			Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
		if err != nil {
			t.Fatal(err)
		}

		e, err := jetstream.Connect(jetstream.Target{Server: server, Pool: "p"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Prepare(t.Context()), e.Release(t.Context(), message(0))); err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		d, err := s.Next(ctx, nothing)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Done(t.Context(), []byte("r")); err != nil {
			t.Fatal(err)
		}
		if got := results(t, e, 1)[0]; got != "r" {
			t.Errorf("the result is %q", got)
		}

		e.Close()
		server.Stop()
	}
}

// An engine whose data is lost while it runs: what a coordinator calls next creates its streams and its pool's
// consumers again, whichever call that is.
func TestWhatAnEngineLostIsCreatedAgain(t *testing.T) {
	for name, call := range map[string]func(*jetstream.Engine) error{
		"under way": func(e *jetstream.Engine) error { _, err := e.UnderWay(t.Context(), "b"); return err },
		"blob":      func(e *jetstream.Engine) error { _, err := e.PutBlob(t.Context(), []byte("x")); return err },
		"release":   func(e *jetstream.Engine) error { return e.Release(t.Context(), message(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			_, e := start(t, jetstream.ServerConfig{})
			if err := e.Wipe(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(call(e), e.Release(t.Context(), message(0))); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := e.Source(false).Next(ctx, nothing); err != nil {
				t.Errorf("no job comes: %v", err)
			}
		})
	}
}

// Of many workers that send a result of the same job the first one counts.
func TestTheFirstResultCounts(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	again := message(0)
	again.Attempt = 2
	if err := errors.Join(e.Release(t.Context(), message(0)), e.Release(t.Context(), again)); err != nil {
		t.Fatal(err)
	}

	s := e.Source(false)
	first, err := s.Next(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}

	second, err := s.Next(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(second.Done(t.Context(), []byte("second")), first.Done(t.Context(), []byte("first"))); err != nil {
		t.Fatal(err)
	}
	if got := results(t, e, 1)[0]; got != "second" {
		t.Errorf("the result is %q", got)
	}
	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != 1 {
		t.Errorf("%v (%v) is left, want the result", there, err)
	}
}

func TestAJobThatIsGivenBackComesAgain(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	if err := e.Release(t.Context(), message(0)); err != nil {
		t.Fatal(err)
	}

	s := e.Source(false)
	for attempt := 1; attempt <= 7; attempt++ { // there is no last attempt of the engine's
		d, err := s.Next(t.Context(), nothing)
		if err != nil || d.Attempt != attempt {
			t.Fatalf("%+v (%v), want attempt %d", d, err, attempt)
		}
		if err := d.Later(time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}

	d, err := s.Next(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Drop(); err != nil {
		t.Fatal(err)
	}

	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if there, err := e.UnderWay(t.Context(), "b"); err == nil && len(there) == 0 {
			return
		} else if time.Since(begin) > time.Minute {
			t.Fatalf("a dropped job is still there: %v (%v)", there, err)
		}
	}
}

// The attempts of a job from before it was given back are counted.
func TestAttemptsFromBeforeCount(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	m := message(0)
	m.Before = 2
	if err := e.Release(t.Context(), m); err != nil {
		t.Fatal(err)
	}

	for attempt := 3; attempt <= 4; attempt++ {
		d, err := e.Source(false).Next(t.Context(), nothing)
		if err != nil || d.Attempt != attempt {
			t.Fatalf("%+v (%v), want attempt %d", d, err, attempt)
		}
		if err := d.Later(0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUrgentJobsHaveTheirOwnSource(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	m := message(7)
	m.Urgent = true
	if err := errors.Join(e.Release(t.Context(), message(1)), e.Release(t.Context(), m)); err != nil {
		t.Fatal(err)
	}
	d, err := e.Source(true).Next(t.Context(), nothing)
	if err != nil || d.Index != 7 || !d.Urgent {
		t.Errorf("%+v (%v)", d, err)
	}
}

func TestCancelAndForget(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	canceled := make(chan string, 1)
	stop, err := e.OnCancel(func(batch string) { canceled <- batch })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	for i := range int64(5) {
		if err := e.Release(t.Context(), message(i)); err != nil {
			t.Fatal(err)
		}
	}

	d, err := e.Source(false).Next(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Done(t.Context(), []byte("r")); err != nil {
		t.Fatal(err)
	}
	if err := e.Cancel(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if got := <-canceled; got != "b" {
		t.Errorf("workers were told of %q", got)
	}
	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != 1 {
		t.Errorf("after the cancel %v (%v), want the result alone", there, err)
	}
	if err := e.Forget(t.Context(), "b", 1); err != nil {
		t.Fatal(err)
	}
	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != 0 {
		t.Errorf("after forget %v (%v)", there, err)
	}
}

func TestBlobs(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	content := make([]byte, 3<<20)
	digest, err := e.PutBlob(t.Context(), content)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Blob(t.Context(), digest); err != nil || len(got) != len(content) {
		t.Errorf("%d bytes (%v)", len(got), err)
	}
	if _, err := e.Blob(t.Context(), "00"); !errors.Is(err, jetstream.ErrNoBlob) {
		t.Errorf("no blob: %v", err)
	}
}
