package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/batch/keys"
	"github.com/brig-sandbox/brig/batch/metrics"
	"github.com/brig-sandbox/brig/batch/worker"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
)

const workerUsage = `
Execute jobs of batches that run on another machine, with the agent of this one.

Usage:
  brig worker --key FILE [flags]
  brig worker --engine URL --name NAME [flags]

Examples:
  # on the machine with the batch
  sudo brig worker-key node2 --engine tls://10.0.0.1:4222 > node2.key
  sudo brig batch jobs.jsonl --engine-listen 10.0.0.1:4222
  # on the other one, with node2.key
  sudo brig worker --key node2.key

A worker takes as many jobs at once as its agent has slots. It connects outwards only, and
waits while no batch runs. SIGTERM has it take no more jobs and end when those that it has
have ended, or after --drain; what is left goes to other workers.

Jobs that ask for a network or for packages are refused, unless --network, --packages and
--index permit it: their connections are this machine's.

Exit codes: 0 after SIGTERM or brig pool drain, 125 if it could not start.`

// workerOptions is the command line of brig worker.
type workerOptions struct {
	engine    engineOptions
	key, name string
	slots     int
	socket    string
	drain     time.Duration
	permits   worker.Permits
	cacheSize api.Size
	blobs     string
	quiet     bool
	verbose   bool
	metrics   string
}

func (o *workerOptions) register(f *pflag.FlagSet, env func(string) string) {
	f.StringVar(&o.key, "key", "", "`FILE` that brig worker-key made: it names the engine")
	o.engine.register(f, env)
	f.StringVar(&o.name, "name", "",
		"`NAME` of this worker, unique in the engine (default: that of the key, or of the host)")
	f.IntVar(&o.slots, "slots", 0, "`NUMBER` of jobs at once (default: the slots of the agent)")
	f.DurationVar(&o.drain, "drain", time.Minute, "how long jobs may go on after SIGTERM")
	permitFlags(f, &o.permits)
	f.Var(&o.cacheSize, "cache", "`SIZE` of the disk space for test data (default 10G)")
	f.StringVar(&o.blobs, "blobs", "",
		"read test data also from this `DIRECTORY`, such as one that all machines share; its files are named by their sha256")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "log errors only")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "log each job")
	metricsFlag(f, &o.metrics)
	cli.SocketVar(f, &o.socket)
}

// permitFlags are the flags that say what jobs may ask for.
func permitFlags(f *pflag.FlagSet, p *worker.Permits) {
	f.StringVar(&p.Network, "network", api.NetworkLoopback,
		"highest network `LEVEL` that jobs may request: none, loopback, allow or public")
	f.BoolVar(&p.Packages, "packages", false, "permit jobs with requirements, whose packages this machine downloads")
	f.StringSliceVar(&p.Indexes, "index", nil,
		"with --packages: `URL` of a package index that jobs may name, besides that of the language (repeatable)")
}

func metricsFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "metrics", "", "serve figures for Prometheus at this `ADDRESS`, such as 127.0.0.1:9464, path /metrics")
}

// serveMetrics serves figures, if an address is set.
func serveMetrics(address string, figures func() []metrics.Figure) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	_, stop, err = metrics.Serve(address, figures)
	return stop, err
}

// WorkerCommand makes brig worker.
func WorkerCommand(c *cli.CLI) *cobra.Command {
	o := new(workerOptions)
	k, f := cli.NewCommand("worker", workerUsage)
	o.register(f, c.Env)
	return c.Does(k, func() int {
		if err := o.check(f); err != nil {
			return c.Hint("worker", err)
		}
		if err := work(c, o); err != nil {
			return c.Fail(err)
		}
		return 0
	})
}

func (o *workerOptions) check(f *pflag.FlagSet) error {
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.key == "" && o.engine.url == "" && o.engine.env("BRIG_ENGINE") == "":
		return errors.New("name the engine: --key FILE, or --engine URL")
	case o.drain < 0:
		return errors.New("--drain: a time of at least zero")
	case o.slots < 0:
		return errors.New("--slots: at least one job at once")
	}

	if err := o.permits.Check(); err != nil {
		return err
	}
	return o.engine.check()
}

// work runs the worker until a signal or an operator ends it.
func work(c *cli.CLI, o *workerOptions) error {
	target, err := o.target()
	if err != nil {
		return err
	}

	level := slog.LevelInfo
	switch {
	case o.quiet:
		level = slog.LevelError
	case o.verbose:
		level = slog.LevelDebug
	}

	log := slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: level}))
	target.Log = log
	agent, err := c.ConnectAs(o.socket, os.Geteuid())
	if err != nil {
		return err
	}

	interrupt, stop := cli.UntilInterrupt(agent)
	defer stop()

	ctx, drain := context.WithCancel(interrupt)
	defer drain()

	x, err := images.NewExecutor(ctx, c, agent, time.Minute, true)
	if err != nil {
		return agent.Explain(err)
	}
	if o.slots > 0 {
		x.Slots = o.slots
	}

	size := int64(o.cacheSize)
	if size == 0 {
		size = maxBatchBlobs
	}

	kept, err := cli.OpenContents(size)
	if err != nil {
		return err
	}

	engine, err := jetstream.Connect(target)
	if err != nil {
		return err
	}
	defer engine.Close()

	kept.Engine = engine
	w := newWorker(x, engine.Jobs, o.name, func(ctx context.Context, digest string) ([]byte, error) {
		if content, ok := readShared(o.blobs, digest); ok {
			return content, nil
		}
		return kept.Get(ctx, digest)
	}, log)

	w.Refuse, w.Drain = o.permits.Refuse, o.drain
	if w.Images, err = x.ImageDigests(ctx); err != nil {
		return agent.Explain(err)
	}

	stopMetrics, err := serveMetrics(o.metrics, metrics.OfWorker(w))
	if err != nil {
		return err
	}
	defer stopMetrics()

	return o.serve(ctx, drain, w, x, engine, log)
}

// serve runs the worker, and reports its state to the engine.
func (o *workerOptions) serve(ctx context.Context, drain func(), w *worker.Worker, x *images.Executor,
	engine *jetstream.Engine, log *slog.Logger) error {
	endCancel, err := engine.OnCancel(w.CancelBatch)
	if err != nil {
		return err
	}
	defer endCancel()

	endDrain, err := engine.OnDrain(o.name, drain)
	if err != nil {
		return err
	}
	defer endDrain()

	state := jetstream.WorkerState{Name: o.name, Pool: o.engine.pool, Version: x.CLI.Version, Slots: x.Slots,
		Languages: maps.Clone(w.Images), Aliases: map[string]string{}}
	for _, l := range x.Languages {
		for _, alias := range l.Aliases {
			state.Aliases[alias], w.Images[alias] = l.Name, w.Images[l.Name]
		}
	}

	if images := slices.DeleteFunc(slices.Sorted(maps.Keys(state.Languages)),
		func(l string) bool { return state.Languages[l] == "" }); len(images) > 0 {
		log.Info("the worker has started", "name", o.name, "pool", o.engine.pool, "slots", x.Slots, "languages",
			strings.Join(images, ","))
	} else {
		log.Warn("the worker has started, but its agent has no image of a language, so jobs are given back: build or "+
			"copy images (brig rootfs build NAME), and start the worker again", "name", o.name, "pool", o.engine.pool)
	}

	done := make(chan struct{})
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		o.report(ctx, done, w, engine, state, log)
	}()
	w.Run(ctx)
	close(done)
	<-reported
	leave, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	if err := engine.Leave(leave, o.name); err != nil {
		log.Warn("the worker stays in the list of the engine for half a minute", "err", err)
	}

	log.Info("the worker has ended")
	return nil
}

const reportInterval = 10 * time.Second

// report reports the state of the worker until done is closed.
func (o *workerOptions) report(ctx context.Context, done <-chan struct{}, w *worker.Worker, engine *jetstream.Engine,
	state jetstream.WorkerState, log *slog.Logger) {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()

	draining := ctx.Done()
	for {
		state.InFlight, state.Reported, state.Draining = w.InFlight(), time.Now().UTC(), ctx.Err() != nil
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		if err := engine.Report(call, state); err != nil {
			log.Debug("report to the engine", "err", err)
		}

		cancel()
		select {
		case <-tick.C:
		case <-draining:
			draining = nil
		case <-done:
			return
		}
	}
}

// target is the engine that the command line or the key names.
func (o *workerOptions) target() (jetstream.Target, error) {
	t := jetstream.Target{URL: o.engine.url}
	if o.key != "" {
		text, err := os.ReadFile(o.key)
		if err != nil {
			return t, err
		}

		var k keys.Key
		if err := json.Unmarshal(text, &k); err != nil {
			return t, fmt.Errorf("%s is no key of brig worker-key: %w", o.key, err)
		}

		t.Seed, t.Certificate = k.Seed, k.Certificate
		if o.name != "" && o.name != k.Name {
			return t, fmt.Errorf("--name %s: the key is that of %s, and the engine knows no other name for it", o.name, k.Name)
		}
		if o.engine.pool != jetstream.DefaultPool && o.engine.pool != k.Pool {
			return t, fmt.Errorf("--pool %s: the key is for the pool %s: make one with brig worker-key --pool", o.engine.pool,
				k.Pool)
		}

		o.engine.pool = cmp.Or(k.Pool, jetstream.DefaultPool)
		if o.name = k.Name; t.URL == "" {
			t.URL = k.Engine
		}
		if err := jetstream.CheckURL(t.URL); err != nil {
			return t, fmt.Errorf("%s: --engine %w", o.key, err)
		}
	}

	if o.name == "" {
		host, err := os.Hostname()
		if err != nil {
			return t, err
		}
		o.name = strings.ToLower(strings.ReplaceAll(host, ".", "-"))
	}

	t.Worker, t.Pool = o.name, o.engine.pool
	return t, jetstream.CheckName("worker", o.name)
}

// readShared reads content from a directory that machines share. Its digest is checked: the directory may have
// another file of this name.
func readShared(dir, digest string) ([]byte, bool) {
	if dir == "" || api.BlobDigest(digest) != nil {
		return nil, false
	}
	content, err := os.ReadFile(filepath.Join(dir, digest))
	if err != nil {
		return nil, false
	}
	return content, batch.ContentDigest(content) == digest
}
