package jetstream_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/brig-sandbox/brig/batch/jetstream"
)

func TestWorkersAreListed(t *testing.T) {
	_, e := start(t, jetstream.ServerConfig{})
	for _, name := range []string{"b", "a"} {
		if err := e.Report(t.Context(), jetstream.WorkerState{Name: name, Pool: "p", Slots: 2}); err != nil {
			t.Fatal(err)
		}
	}

	all, err := e.Workers(t.Context(), "p")
	if err != nil || len(all) != 2 || all[0].Name != "a" {
		t.Fatalf("%+v (%v)", all, err)
	}
	if err := e.Leave(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if all, err = e.Workers(t.Context(), "p"); err != nil || len(all) != 1 || all[0].Name != "b" {
		t.Errorf("%+v (%v)", all, err)
	}

	drained := make(chan struct{})
	stop, err := e.OnDrain("b", func() { close(drained) })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	if err := e.Drain(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}

	<-drained
	if err := e.Drain(t.Context(), "other"); err == nil {
		t.Error("a worker that does not exist was drained")
	}
}

// The end of a batch is no failure of a worker that waits for jobs: it says only that its connection has gone.
func TestAnEngineThatEndsIsOneLine(t *testing.T) {
	seed, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	server, e := start(t, jetstream.ServerConfig{Listen: "127.0.0.1:0", Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
	said := make(lines, 100)
	w, err := jetstream.Connect(jetstream.Target{URL: "nats://" + server.Addr().String(), Worker: "w", Pool: "p", Seed: seed,
		Log: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	go func() {
		for ctx.Err() == nil && e.Asking(ctx) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		server.Stop()
		time.Sleep(2 * time.Second) // the worker asks again
		cancel()
	}()

	if d, err := w.Source(false).Next(ctx, nothing); err == nil {
		t.Errorf("a job: %+v", d)
	}

	e.Close()
	for len(said) > 0 {
		if line := <-said; strings.Contains(line, "gives no jobs") {
			t.Errorf("it says %s", line)
		}
	}
}

// A worker that ends after its engine does not wait for it: many workers would keep a machine busy for half a
// minute.
func TestAWorkerWithoutEngineLeavesAtOnce(t *testing.T) {
	seed, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	server, err := jetstream.StartServer(jetstream.ServerConfig{Dir: t.TempDir(), Pool: "p", Listen: "127.0.0.1:0",
		Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
	if err != nil {
		t.Fatal(err)
	}

	w, err := jetstream.Connect(jetstream.Target{URL: "nats://" + server.Addr().String(), Worker: "w", Pool: "p", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	server.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // until it has noticed
		if errors.Is(w.Report(t.Context(), jetstream.WorkerState{Name: "w"}), nats.ErrDisconnected) {
			break
		}
	}

	begun := time.Now()
	for name, err := range map[string]error{"report": w.Report(t.Context(), jetstream.WorkerState{Name: "w"}),
		"leave": w.Leave(t.Context(), "w")} {
		if !errors.Is(err, nats.ErrDisconnected) {
			t.Errorf("%s: %v", name, err)
		}
	}

	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A worker whose key the engine does not know, or that calls something else than an engine, says so once.
func TestAWorkerSaysWhyItHasNoEngine(t *testing.T) {
	server, _ := start(t, jetstream.ServerConfig{})
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()

	go func() {
		for c, err := other.Accept(); err == nil; c, err = other.Accept() {
			c.Write([]byte("220 mail\r\n")) //nolint:errcheck // it may hang up
			c.Close()                       //nolint:errcheck // as above
		}
	}()

	seed, _, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	for address, want := range map[string]string{server.Addr().String(): "Authorization Violation", other.Addr().String(): ""} {
		said := make(lines, 100)
		w, err := jetstream.Connect(jetstream.Target{URL: "nats://" + address, Worker: "w", Pool: "p", Seed: seed,
			Log: slog.New(slog.NewTextHandler(said, nil))})
		if err != nil {
			t.Fatal(err)
		}

		select {
		case line := <-said:
			if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "no connection to the engine") || !strings.Contains(line, want) {
				t.Errorf("it says %s; want %q", line, want)
			}
		case <-time.After(time.Minute):
			t.Errorf("it says nothing about %s", address)
		}

		time.Sleep(time.Second) // it tries several times
		w.Close()
		if len(said) > 0 {
			t.Errorf("it says more: %s", <-said)
		}
	}
}

// lines are what a log writes.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
