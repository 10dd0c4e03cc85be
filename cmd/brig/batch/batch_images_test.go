package batch

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/batch/jetstream"
)

// A batch without an agent here runs all jobs of a language in one image, that of most workers. It waits for one.
func TestABatchHasTheImageOfMostWorkers(t *testing.T) {
	_, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	server, err := jetstream.StartServer(jetstream.ServerConfig{Dir: t.TempDir(), Pool: "p", Listen: "127.0.0.1:0",
		Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(server.Stop)
	engine, err := jetstream.Connect(jetstream.Target{Server: server, Pool: "p"})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(engine.Close)
	if err := engine.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	b := &batchRun{engine: engine, ctx: ctx, o: &batchOptions{engine: engineOptions{pool: "p"}}, images: map[string]string{},
		log: slog.New(slog.DiscardHandler)}
	report := func(name, digest string) {
		t.Helper()
		state := jetstream.WorkerState{Name: name, Languages: map[string]string{"python": digest}, Aliases: map[string]string{"py": "python"}}
		if err := engine.Report(t.Context(), state); err != nil {
			t.Fatal(err)
		}
	}

	reported := time.AfterFunc(50*time.Millisecond, func() { report("b", "sha256:b") })
	defer reported.Stop()

	for _, tt := range [][2]string{{"py", "sha256:b"}, {"python", "sha256:b"}, {"cobol", ""}} {
		if digest, err := b.image(t.Context(), tt[0]); err != nil || digest != tt[1] {
			t.Errorf("%s: %q, %v; want %q", tt[0], digest, err, tt[1])
		}
		report("a2", "sha256:a") // one that joins later changes nothing
	}

	workers := []jetstream.WorkerState{
		{Name: "a", Languages: map[string]string{"python": "sha256:of-nobody-else"}},
		{Name: "b", Languages: map[string]string{"python": "sha256:b"}},
		{Name: "c", Languages: map[string]string{"python": "sha256:b"}},
		{Name: "d", Languages: map[string]string{"python": "sha256:d"}, Draining: true},
	}
	if _, digest, any := jetstream.ImageOf(workers, "python"); digest != "sha256:b" || !any {
		t.Errorf("%q, want that of two workers", digest)
	}
	if _, digest, any := jetstream.ImageOf(workers[:2], "python"); digest != "sha256:of-nobody-else" || !any {
		t.Errorf("%q, want that of the first of two", digest)
	}

	b.o.engine.pool = "empty"
	time.AfterFunc(20*time.Millisecond, stop)
	if _, err := b.image(t.Context(), "c"); err == nil {
		t.Error("an interrupt does not end the wait for a worker")
	}
}
