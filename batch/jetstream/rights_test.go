package jetstream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

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

	w, err := jetstream.Connect(jetstream.Target{URL: url, Worker: "w", Pool: "p", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	d, err := w.Source(false).Next(t.Context(), nothing)
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
	denied("create a stream", func(ctx context.Context) error { return w.Prepare(ctx) })
	denied("list the jobs under way", func(ctx context.Context) error { _, err := w.UnderWay(ctx, "b"); return err })
	denied("keep a blob", func(ctx context.Context) error { _, err := w.PutBlob(ctx, []byte("x")); return err })
	denied("list the workers", func(ctx context.Context) error { _, err := w.Workers(ctx, "p"); return err })
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
	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != 3 {
		t.Errorf("after a worker removed what it could, %d of 3 are under way (%v)", len(there), err)
	}
	if c, err := nats.Connect(url, nats.MaxReconnects(0)); err == nil {
		c.Close()
		t.Error("a process without a key can connect")
	}
}

// A worker's key reaches no other pool, also in a NATS server that has all pools in one account: neither what a batch
// keeps, nor its jobs, nor its results, nor the states of its workers. The engine itself sends nothing there for it.
func TestAWorkerReachesNoOtherPool(t *testing.T) {
	evilSeed, evil, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	seed, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	ours, others := jetstream.Worker{Name: "w", Pool: "p", Key: evil}, jetstream.Worker{Name: "v", Pool: "other", Key: public}

	embedded, err := jetstream.StartServer(jetstream.ServerConfig{Dir: t.TempDir(), Pool: "other", Listen: "127.0.0.1:0",
		Workers: []jetstream.Worker{ours, others}})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(embedded.Stop)
	ownURL := startNATS(t, ours, others)
	for name, tt := range map[string]struct {
		url      string
		engine   jetstream.Target // of the batch
		ownBatch bool             // the pool of the evil worker has a batch, too
	}{
		"embedded":            {"nats://" + embedded.Addr().String(), jetstream.Target{Server: embedded, Pool: "other"}, false},
		"one account for all": {ownURL, jetstream.Target{URL: coordinatorURL(ownURL), Pool: "other"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := jetstream.Connect(tt.engine)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()

			if err := e.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}

			v, err := jetstream.Connect(jetstream.Target{URL: tt.url, Worker: "v", Pool: "other", Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()

			hidden, err := e.PutBlob(t.Context(), []byte("hidden"))
			if err == nil {
				err = errors.Join(e.Release(t.Context(), message(0)), v.Report(t.Context(), jetstream.WorkerState{Name: "v", Slots: 1}))
			}
			if err != nil {
				t.Fatal(err)
			}

			stored := "" // the subject of a message in a bucket of the evil worker's pool
			if tt.ownBatch {
				own, err := jetstream.Connect(jetstream.Target{URL: tt.engine.URL, Pool: "p"})
				if err != nil {
					t.Fatal(err)
				}
				defer own.Close()
				if err := own.Prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := own.PutBlob(t.Context(), []byte("forged")); err != nil {
					t.Fatal(err)
				}
				stored = "$JS.API.DIRECT.GET." + own.BlobStream() + "." + own.BlobSubject(t)
			}

			for _, pool := range []string{"other", "p"} { // as a worker of that pool, and of its own
				w, err := jetstream.Connect(jetstream.Target{URL: tt.url, Worker: "w", Pool: pool, Seed: evilSeed})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()

				soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()

				if text, err := w.Blob(soon, hidden); err == nil {
					t.Errorf("%s: it reads %q", pool, text)
				}
				if d, err := w.Source(false).Next(soon, nothing); err == nil {
					t.Errorf("%s: it takes %+v", pool, d)
				}
			}

			c, err := nats.Connect(tt.url, nats.Nkey(evil, sign(t, evilSeed)), nats.CustomInboxPrefix("_INBOX_w"), nats.Timeout(time.Minute),
				nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()

			for _, subject := range []string{
				"$JS.API.STREAM.INFO." + e.BlobStream(), "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST",
				"$JS.API.DIRECT.GET." + e.BlobStream() + "." + e.BlobSubject(t),
				"$JS.API.STREAM.MSG.GET." + e.BlobStream(), "$JS.API.STREAM.INFO.BRIG_JOBS_other", "$JS.API.CONSUMER.MSG.NEXT.BRIG_JOBS_other.n",
			} {
				if m, err := c.Request(subject, []byte(`{"subjects_filter":">"}`), 200*time.Millisecond); err == nil {
					t.Errorf("%s answers %s", subject, m.Data)
				}
			}

			// States: garbage, one of another name, and a roll-up, in all buckets.
			for _, pool := range []string{"other", "p"} {
				for _, key := range []string{"v", "w", "aaa"} {
					for _, state := range []string{"garbage", `{"name":"aaa","pool":"other","slots":9}`} {
						m := nats.NewMsg("$KV.BRIG_WORKERS_" + pool + "." + key)
						m.Data = []byte(state)
						m.Header.Set("Nats-Rollup", "all")
						if err := c.PublishMsg(m); err != nil {
							t.Error(err)
						}
					}
				}
			}

			// Replies of the engine: a job and a result.
			replies := []string{"brig.pool.other.jobs.n.injected.7", "brig.pool.other.results.b.0"}
			for _, reply := range replies {
				for _, subject := range []string{stored, "$JS.API.CONSUMER.MSG.NEXT.BRIG_JOBS_p.n"} {
					if subject != "" {
						if err := c.PublishRequest(subject, reply, nil); err != nil {
							t.Error(err)
						}
					}
				}
			}

			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}

			time.Sleep(100 * time.Millisecond) // the engine answers

			workers, err := e.Workers(t.Context(), "other")
			if err != nil || len(workers) != 1 || workers[0].Name != "v" {
				t.Errorf("the workers of the other pool are %+v (%v)", workers, err)
			}

			s := v.Source(false)
			d, err := s.Next(t.Context(), nothing)
			if err != nil || d.Batch != "b" || d.Index != 0 {
				t.Fatalf("a worker of the other pool gets %+v (%v)", d, err)
			}

			soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()

			if more, err := s.Next(soon, nothing); err == nil {
				t.Errorf("a worker of the other pool gets %+v", more)
			}

			go func() { // the forged result is dropped, and then there is room for the right one
				for t.Context().Err() == nil && d.Done(t.Context(), []byte("right")) == nil {
					time.Sleep(100 * time.Millisecond)
				}
			}()

			if got := results(t, e, 1); got[0] != "right" {
				t.Errorf("the result is %q", got[0])
			}
		})
	}
}

// A state that is none, and one that claims another name or pool, changes nothing for the other workers of the pool.
func TestStatesOfWorkersAreNotBelieved(t *testing.T) {
	seed, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	s, e := start(t, jetstream.ServerConfig{Listen: "127.0.0.1:0", Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
	if err := e.Report(t.Context(), jetstream.WorkerState{Name: "honest", Slots: 2}); err != nil {
		t.Fatal(err)
	}

	c, err := nats.Connect("nats://"+s.Addr().String(), nats.Nkey(public, sign(t, seed)), nats.CustomInboxPrefix("_INBOX_w"),
		nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	for _, tt := range []struct {
		state, header string
		want          []string
	}{
		{"garbage", "", []string{"honest"}},
		{`{"name":"aaa","pool":"other","slots":1000000000}`, "", []string{"honest", "w"}},
		{"{}", "all", []string{"honest", "w"}},
		{"{}", "sub", []string{"honest", "w"}},
	} {
		m := nats.NewMsg("$KV.BRIG_WORKERS_p.w")
		m.Data = []byte(tt.state)
		if tt.header != "" {
			m.Header.Set("Nats-Rollup", tt.header)
		}
		if _, err := c.RequestMsg(m, time.Minute); err != nil {
			t.Fatal(err)
		}

		all, err := e.Workers(t.Context(), "p")
		var names []string
		for _, w := range all {
			if names = append(names, w.Name); w.Pool != "p" || w.Slots > 4096 {
				t.Errorf("%s: %+v", tt.state, w)
			}
		}

		if err != nil || !slices.Equal(names, tt.want) {
			t.Errorf("%s %s: workers %v (%v), want %v", tt.state, tt.header, names, err, tt.want)
		}
	}
}

// startNATS starts a NATS server with the entries of brig worker-key --nats in one account.
func startNATS(t *testing.T, workers ...jetstream.Worker) (url string) {
	t.Helper()
	account := server.NewAccount("BRIG")
	o := &server.Options{ServerName: "own", JetStream: true, StoreDir: t.TempDir(), NoSigs: true, Host: "127.0.0.1", Port: server.RANDOM_PORT,
		AuthTimeout: time.Minute.Seconds(),
		Accounts:    []*server.Account{account}, Users: []*server.User{{Username: "coordinator", Password: "secret", Account: account}}}
	for _, w := range workers {
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: w.Key, Account: account, Permissions: jetstream.WorkerPermissions(w.Name, w.Pool)})
	}

	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}

	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}

	running, err := s.LookupAccount("BRIG")
	if err == nil {
		err = running.EnableJetStream(nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "nats://" + s.Addr().String()
}

func coordinatorURL(url string) string {
	return strings.Replace(url, "nats://", "nats://coordinator:secret@", 1)
}

func sign(t *testing.T, seed string) func(nonce []byte) ([]byte, error) {
	t.Helper()
	key, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		t.Fatal(err)
	}
	return key.Sign
}

// A worker may send to every subject of its pool's results. What is of no job is left out: as an error it stalled the
// batch for as long as the stream had it.
func TestAWorkerCannotStallItsBatch(t *testing.T) {
	seed, public, err := jetstream.NewKey()
	if err != nil {
		t.Fatal(err)
	}

	s, e := start(t, jetstream.ServerConfig{Listen: "127.0.0.1:0", Workers: []jetstream.Worker{{Name: "w", Pool: "p", Key: public}}})
	url := "nats://" + s.Addr().String()
	if err := e.Release(t.Context(), message(0)); err != nil {
		t.Fatal(err)
	}

	c, err := nats.Connect(url, nats.Nkey(public, sign(t, seed)), nats.CustomInboxPrefix("_INBOX_w"), nats.Timeout(time.Minute),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	for _, end := range []string{"notanumber", "-1", "00", "+0", "99999999999999999999", "x.0", "*"} {
		if err := c.Publish("brig.pool.p.results.b."+end, []byte("{}")); err != nil {
			t.Errorf("%s: %v", end, err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}

	w, err := jetstream.Connect(jetstream.Target{URL: url, Worker: "w", Pool: "p", Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	d, err := w.Source(false).Next(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	if there, err := e.UnderWay(t.Context(), "b"); err != nil || len(there) != 1 || !there[0] {
		t.Errorf("under way are %v (%v); want job 0", there, err)
	}
	if err := d.Done(t.Context(), []byte("right")); err != nil {
		t.Fatal(err)
	}
	if got := results(t, e, 1); len(got) != 1 || got[0] != "right" {
		t.Errorf("the results are %v", got)
	}
}
