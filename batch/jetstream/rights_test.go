package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/jetstream"
)

func TestAnEngineOnTheNetworkNeedsTLSAndKeys(t *testing.T) {
	for name, c := range map[string]jetstream.ServerConfig{
		"no TLS":  {Listen: "0.0.0.0:0", Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: "U"}}},
		"no keys": {Listen: "127.0.0.1:0"},
	} {
		c.Dir = t.TempDir()
		if s, err := jetstream.StartServer(c); err == nil {
			s.Stop()
			t.Errorf("%s: the engine started", name)
		}
	}
}

// A worker can take jobs, extend them and send results, and nothing else.
func TestWorkersHaveNoOtherRights(t *testing.T) {
	seed, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	s, e := start(t, jetstream.ServerConfig{Listen: "127.0.0.1:0", Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
	url := "nats://" + s.Addr().String()
	for i := range int64(3) {
		if err := e.Release(t.Context(), message(i)); err != nil {
			t.Fatal(err)
		}
	}
	digest, err := e.PutBlob(t.Context(), []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := jetstream.Connect(jetstream.Target{URL: url, Worker: "w", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d, err := w.Source("p", false).Next(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Extend(), d.Done(t.Context(), []byte("r"))); err != nil {
		t.Errorf("a worker's work: %v", err)
	}
	if got, err := w.Blob(t.Context(), digest); err != nil || string(got) != "data" {
		t.Errorf("a worker reads a blob: %q (%v)", got, err)
	}
	if err := w.Report(t.Context(), jetstream.WorkerState{Name: "w"}); err != nil {
		t.Errorf("a worker reports: %v", err)
	}
	if got := results(t, e, 1); got[d.Index] != "r" {
		t.Errorf("results %v", got)
	}

	// A call that is not permitted gets no answer.
	denied := func(what string, do func(ctx context.Context) error) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := do(ctx); err == nil {
			t.Errorf("a worker can %s", what)
		}
	}
	denied("release a job", func(ctx context.Context) error { return w.Release(ctx, message(9)) })
	denied("create a stream", func(ctx context.Context) error { return w.Prepare(ctx, "p") })
	denied("list the jobs under way", func(ctx context.Context) error { _, err := w.UnderWay(ctx, "b"); return err })
	denied("keep a blob", func(ctx context.Context) error { _, err := w.PutBlob(ctx, []byte("x")); return err })
	denied("list the workers", func(ctx context.Context) error { _, err := w.Workers(ctx); return err })
	if err := e.Prepare(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	others := message(5)
	others.Pool = "other"
	if err := e.Release(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	denied("take a job of another pool", func(ctx context.Context) error { _, err := w.Source("other", false).Next(ctx, nothing); return err })
	theirs, err := e.Source("other", false).Next(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	denied("send a result for another pool", func(ctx context.Context) error { return theirs.As(w).Done(ctx, []byte("r")) })
	if err := theirs.As(w).Drop(); err != nil { // it says nothing, and changes nothing
		t.Error(err)
	}
	denied("report as another worker", func(ctx context.Context) error { return w.Report(ctx, jetstream.WorkerState{Name: "other"}) })
	out := make(chan batch.Message, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	w.Results(ctx, "b", out)
	for len(out) > 0 {
		if m := <-out; m.Body != nil {
			t.Error("a worker can read results")
		}
	}
	_ = w.End(t.Context(), "b") // cannot: the jobs are still there
	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != 4 {
		t.Errorf("after a worker removed what it could, %d of 4 are under way (%v)", len(there), err)
	}
	if c, err := nats.Connect(url, nats.MaxReconnects(0)); err == nil {
		c.Close()
		t.Error("a process without a key can connect")
	}
}
