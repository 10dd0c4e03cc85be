package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/batch/worker"
)

// simulatedTime is how long a simulated worker takes for a job.
const simulatedTime = 20 * time.Millisecond

// manyWorkers has many simulated workers, in a process of their own, execute jobs.
func (t *tool) manyWorkers(ctx context.Context) error {
	if t.workers == 0 {
		return nil
	}

	r, err := t.simulate(ctx, t.workers, 20*t.workers)
	if err != nil {
		return err
	}

	t.report.add(fmt.Sprintf("%d simulated workers (%v a job), jobs per second", t.workers, simulatedTime),
		"at least 1000", r.rate >= 1000, "%.0f", r.rate)
	t.report.add("jobs of the worker with the fewest and with the most", "none starved", r.minimum > 0, "%d and %d of %d",
		r.minimum, r.maximum, 20*t.workers)
	t.report.add("memory of the engine with them, resident", "at most 250 MiB", r.engineMemory <= 250<<20, "%.0f MiB",
		float64(r.engineMemory)/(1<<20))
	return nil
}

// scaling compares the rate of 3 and of 8 simulated workers with that of one.
func (t *tool) scaling(ctx context.Context) error {
	counts := []int{1, 3, 8}
	rates := map[int][]float64{}
	for range t.rounds {
		for _, n := range counts {
			r, err := t.simulate(ctx, n, 200*n)
			if err != nil {
				return err
			}
			rates[n] = append(rates[n], r.rate)
		}
	}

	one := median(rates[1])
	for _, n := range counts[1:] {
		share := 100 * median(rates[n]) / (float64(n) * one)
		t.report.add(fmt.Sprintf("rate of %d simulated workers (%v a job), relative to %d times that of one", n,
			simulatedTime, n), "at least 90 %", share >= 90, "%.0f %% (%.0f and %.0f jobs/s)", share, median(rates[n]), one)
	}

	return nil
}

// A simulation is what a batch on simulated workers came to.
type simulation struct {
	rate             float64
	minimum, maximum int   // jobs of one worker
	engineMemory     int64 // most resident, in bytes
}

// simulate has n simulated workers, in a process of their own, execute jobs from an engine.
func (t *tool) simulate(ctx context.Context, n, jobs int) (s simulation, err error) {
	engine, err := startEngine(ctx, t.dir)
	if err != nil {
		return s, err
	}
	defer engine.stop()

	exe, err := os.Executable()
	if err != nil {
		return s, err
	}

	workers := exec.CommandContext(ctx, exe, workersArgument, engine.url, strconv.Itoa(n))
	workers.Stderr = os.Stderr
	out, err := workers.StdoutPipe()
	if err != nil {
		return s, err
	}

	in, err := workers.StdinPipe()
	if err != nil {
		return s, err
	}
	if err := workers.Start(); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, workers.Wait()) }()
	defer in.Close() //nolint:errcheck // a second time, after an error

	lines := bufio.NewScanner(out)
	if !lines.Scan() { // they are connected
		return s, errors.New("the workers did not start")
	}

	name := filepath.Join(t.dir, "jobs.jsonl")
	if err := writeJobs(name, kind{jobs: jobs, run: api.Run{Image: "none", Argv: []string{"/bin/true"}}}); err != nil {
		return s, err
	}

	watch, end := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for watch.Err() == nil {
			if n, err := resident(engine.cmd.Process.Pid); err == nil {
				s.engineMemory = max(s.engineMemory, n)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})

	b, err := t.batchFile(ctx, name, "--local", "none", "--engine", engine.url)
	end()
	watcher.Wait()
	if err != nil {
		return s, err
	}

	s.rate = b.rate
	if _, err := io.WriteString(in, "\n"); err != nil {
		return s, err
	}
	if !lines.Scan() {
		return s, errors.New("the workers did not report")
	}

	_, err = fmt.Sscanf(lines.Text(), "%d %d", &s.minimum, &s.maximum)
	return s, err
}

// simulatedWorkers connects workers to an engine, says so on stdout, and at the end of stdin how many jobs the
// least and the most busy one had.
func simulatedWorkers(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	counts := make([]atomic.Int64, n)
	var all sync.WaitGroup
	for i := range n {
		engine, err := jetstream.Connect(jetstream.Target{URL: args[0], Worker: fmt.Sprintf("w%d", i), Pool: "default"})
		if err != nil {
			return err
		}
		defer engine.Close()

		source := func(urgent bool) func() worker.Source {
			return func() worker.Source {
				s := engine.Source(urgent)
				return func(ctx context.Context, none func()) (worker.Delivery, error) { return s.Next(ctx, none) }
			}
		}

		w := &worker.Worker{Name: fmt.Sprintf("w%d", i), Slots: 1, Jobs: source(false),
			Urgent: source(true), Drain: time.Second,
			Blob: func(ctx context.Context, digest string) ([]byte, error) { return engine.Blob(ctx, digest) },
			Execute: func(context.Context, api.Run) (api.RawResult, error) {
				counts[i].Add(1)
				time.Sleep(simulatedTime)
				return api.RawResult{Result: api.Result{Verdict: api.OK}}, nil
			},
			Healthy: func(context.Context) error { return nil },
		}

		if i == 0 {
			if err := engine.Prepare(ctx); err != nil {
				return err
			}
		}
		if err := engine.Report(ctx, jetstream.WorkerState{Name: w.Name, Pool: "default", Slots: 1}); err != nil {
			return err
		}

		all.Go(func() { w.Run(ctx) })
	}

	fmt.Println("connected")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // it ends
	cancel()
	all.Wait()
	minimum, maximum := counts[0].Load(), int64(0)
	for i := range counts {
		minimum, maximum = min(minimum, counts[i].Load()), max(maximum, counts[i].Load())
	}

	fmt.Println(minimum, maximum)
	return nil
}
