package batch

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/contents"
	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/batch/local"
	"github.com/brig-sandbox/brig/batch/worker"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
)

// maxBatchBlobs is the most disk space for contents that jobs name by digest.
const maxBatchBlobs = 10 << 30

// A batchRun has the parts of a batch under way.
type batchRun struct {
	c    *cli.CLI
	o    *batchOptions
	ctx  context.Context // done when the user interrupts
	stop func()

	*images.Executor                // nil: no job runs on this machine
	worker           *worker.Worker // nil: as executor
	queue            batch.Queue
	engine           *jetstream.Engine // the queue, if workers elsewhere use it; nil: it is a list in this process
	server           *jetstream.Server // of the engine; nil: it runs elsewhere, or there is none
	contents         *contents.Store
	log              *slog.Logger

	common   api.Run
	digest   string // of common
	problems map[string]*batchProblem
	main     *batchProblem     // of --problem; nil: none
	images   map[string]string // digest of each language's image
	root     *os.Root          // directory of the input, for source_file

	mu    sync.Mutex
	slots int // of the pool; guarded by mu
}

// openBatch connects to the agent and the engine. The caller closes the batchRun.
func openBatch(c *cli.CLI, o *batchOptions) (_ *batchRun, err error) {
	log := c.Stderr
	if cli.IsTerminal(log) && !o.quiet {
		log = clearsLine{log}
	}

	b := &batchRun{c: c, o: o, problems: map[string]*batchProblem{}, images: map[string]string{},
		log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	var agent *caller.Agent
	if o.local != "none" {
		if agent, err = c.ConnectAs(o.socket, os.Geteuid(), cli.CeilingFlags(o.run)...); err != nil {
			return nil, err
		}
	}

	b.ctx, b.stop = cli.UntilInterrupt(agent)
	defer func() {
		if err != nil {
			b.close()
		}
	}()

	if agent != nil {
		if b.Executor, err = images.NewExecutor(b.ctx, c.Quiet(o.quiet), agent, time.Minute, o.noBuild); err != nil {
			return nil, agent.Explain(err)
		}
		if n, err := strconv.Atoi(o.local); err == nil {
			b.Executor.Slots = n
		}
		b.slots = b.Executor.Slots
		saveProcessorTime(b.slots)
	}

	if b.contents, err = cli.OpenContents(maxBatchBlobs); err != nil {
		return nil, err
	}
	if o.in != "-" {
		if b.root, err = os.OpenRoot(filepath.Dir(o.in)); err != nil {
			return nil, err
		}
	}

	return b, b.openQueue()
}

// openQueue makes the queue, and the worker in this process.
func (b *batchRun) openQueue() (err error) {
	var jobs func(urgent bool) worker.Source
	if b.o.engine.shared() {
		if b.server, b.engine, err = b.o.engine.open(b.ctx, b.o.batchID(), b.log); err != nil {
			return err
		}
		b.queue, jobs, b.contents.Engine = b.engine, b.engine.Jobs, b.engine
		if err := b.engine.Prepare(b.ctx); err != nil {
			return err
		}
	} else {
		q := local.New()
		b.queue, jobs = q, func(urgent bool) worker.Source {
			return worker.SourceOf(func(ctx context.Context, none func()) (*local.Delivery, error) {
				return q.Next(ctx, urgent, none)
			})
		}
	}

	if b.Executor != nil {
		b.worker = newWorker(b.Executor, jobs, "local-"+rand.Text()[:8], b.contents.Get, b.log)
		b.worker.Refuse = b.o.permits.Refuse
		b.worker.Drain = time.Second // the coordinator has what it waits for
	}

	return nil
}

func (b *batchRun) close() {
	for _, p := range b.problems {
		p.close()
	}

	if b.root != nil {
		b.root.Close() //nolint:errcheck // it was only read
	}
	if b.engine != nil {
		b.engine.Close()
	}
	if b.server != nil {
		b.server.Stop()
		os.RemoveAll(b.o.engine.dir(b.o.batchID())) //nolint:errcheck // it has nothing that is needed
	}

	b.stop()
}

// batchID is the id of the batch, which is the same when it is resumed.
func (o *batchOptions) batchID() string {
	if o.id == "" {
		o.id = batch.IDOf(o.out)
	}
	return o.id
}

// working is the number of jobs that run, if they run here alone; below zero: it is not known.
func (b *batchRun) working() int {
	if b.worker == nil || b.engine != nil && b.poolSlots() != b.Executor.Slots {
		return -1
	}
	return b.worker.InFlight()
}

// poolSlots is the number of slots of the pool.
func (b *batchRun) poolSlots() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slots
}

// window is how many jobs may be released and not recorded: enough that no slot of the pool waits.
func (b *batchRun) window() int { return max(64, 4*b.poolSlots()) }

// startWorkers starts the worker in this process and, with an engine that others use, looks from time to time
// how many slots the pool has. stop ends both and waits.
func (b *batchRun) startWorkers() (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.ctx))
	var all sync.WaitGroup
	if w := b.worker; w != nil {
		unsubscribe := func() {}
		if b.engine != nil {
			var err error
			if unsubscribe, err = b.engine.OnCancel(w.CancelBatch); err != nil {
				b.log.Warn("jobs of a canceled batch go on", "err", err)
				unsubscribe = func() {}
			}
		}
		all.Go(func() {
			defer unsubscribe()
			w.Run(ctx)
		})
	}

	if b.engine != nil {
		all.Go(func() { b.countSlots(ctx) })
	}

	return func() {
		cancel()
		all.Wait()
	}
}

// countSlots keeps slots at what the workers of the pool report, and what this process has.
func (b *batchRun) countSlots(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()

	for {
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		workers, err := b.engine.Workers(call, b.o.engine.pool)
		cancel()
		if err == nil {
			slots := 0
			if b.Executor != nil {
				slots = b.Executor.Slots
			}
			for _, w := range workers {
				if !w.Draining {
					slots += w.Slots
				}
			}
			b.mu.Lock()
			b.slots = slots
			b.mu.Unlock()
		}

		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// saveProcessorTime has the scheduler of this process take less time, which is that of the programs: one processor
// moves a few thousand jobs a second.
func saveProcessorTime(slots int) {
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), max(1, slots/4)))
	debug.SetMemoryLimit(96 << 20)
}

// newWorker makes a worker that executes jobs on an agent.
func newWorker(x *images.Executor, jobs func(urgent bool) worker.Source, name string,
	blob func(context.Context, string) ([]byte, error), log *slog.Logger) *worker.Worker {
	source := func(urgent bool) func() worker.Source { return func() worker.Source { return jobs(urgent) } }
	return &worker.Worker{
		Name: name, Slots: x.Slots, Jobs: source(false), Urgent: source(true), Log: log, Blob: blob,
		Execute: func(ctx context.Context, r api.Run) (api.RawResult, error) { return executeJob(ctx, x, r) },
		Keep: func(ctx context.Context, content []byte) error {
			_, err := x.Agent.PutBlob(ctx, content)
			return err
		},
		Healthy: func(ctx context.Context) error {
			_, err := x.Agent.Health(ctx)
			return err
		},
	}
}
