package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/batch/worker"
)

// fairness measures how long 20 jobs take behind a large batch, on one engine that both use.
func (t *tool) fairness(ctx context.Context) error {
	url, stop, err := startEngine(ctx, t.dir)
	if err != nil {
		return err
	}
	defer stop()
	socket := []string{"--socket", filepath.Join(t.agent.Dir, "brigd.sock"), "--engine", url}
	small := kind{jobs: 20, run: api.Run{Image: t.own.Name, Argv: []string{"/bin/true"}}}
	alone, err := t.batch(ctx, small, socket...)
	if err != nil {
		return err
	}
	large := small
	large.jobs = 10_000
	in := filepath.Join(t.dir, "large.jsonl")
	if err := writeJobs(in, large); err != nil {
		return err
	}
	big := exec.CommandContext(ctx, t.brig, append([]string{"batch", in, "-o", filepath.Join(t.dir, "large.out"), "--quiet", "--keep", "summary"}, socket...)...)
	if err := big.Start(); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	// It brings no slots of its own.
	behind, err := t.batch(ctx, small, "--local", "none", "--engine", url)
	err = errors.Join(err, big.Wait())
	if err != nil {
		return err
	}
	extra := behind.wall - alone.wall
	t.report.add("20 jobs behind 10,000 on the same workers, more than alone", "at most 1 s", extra <= time.Second, "%.2f s (alone %.2f s)", extra.Seconds(), alone.wall.Seconds())
	return nil
}

// startEngine starts an engine of its own in this process, on loopback without keys.
func startEngine(ctx context.Context, dir string) (url string, stop func(), err error) {
	name := filepath.Join(dir, "nats-server")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", name, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("build nats-server: %w: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return "", nil, err
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	cmd := exec.CommandContext(ctx, name, "-js", "-sd", filepath.Join(dir, "store"), "-a", "127.0.0.1", "-p", strconv.Itoa(port))
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	engineProcess = cmd.Process.Pid
	stop = func() {
		_ = cmd.Process.Kill() // it has ended
		_ = cmd.Wait()         // its exit code is the signal's
	}
	for range 500 {
		if c, err := net.Dial("tcp", address); err == nil {
			return "nats://" + address, stop, c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	return "", nil, errors.New("the engine does not listen")
}

var engineProcess int // id of the engine that was started last

// memory measures brig batch over many tiny jobs, on an agent that answers at once: at a tenth and at the end.
func (t *tool) memory(ctx context.Context) error {
	if t.many == 0 {
		return nil
	}
	socket, stop, err := simulatedAgent(t.dir)
	if err != nil {
		return err
	}
	defer stop()
	k := kind{jobs: t.many, run: api.Run{Image: "none", Argv: []string{"/bin/true"}}}
	in := filepath.Join(t.dir, "many.jsonl")
	if err := writeJobs(in, k); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, t.brig, "batch", in, "-o", filepath.Join(t.dir, "many.out"), "--quiet", "--keep", "summary", "--socket", socket)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var tenth, most int64
	for {
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			rate := float64(t.many) / time.Since(began).Seconds()
			t.report.add(fmt.Sprintf("memory of `brig batch` over %d tiny jobs, most resident", t.many), "at most 120 MiB", most <= 120<<20, "%.0f MiB (%.0f jobs/s on a simulated agent)", float64(most)/(1<<20), rate)
			t.report.add("the same, more than after a tenth of them", "-", true, "%.0f MiB", float64(most-tenth)/(1<<20))
			return os.Remove(filepath.Join(t.dir, "many.out"))
		case <-time.After(100 * time.Millisecond):
		}
		now, err := resident(cmd.Process.Pid)
		if err != nil {
			continue // it has just ended
		}
		most = max(most, now)
		lines, err := countLines(filepath.Join(t.dir, "many.out"))
		if err == nil && lines <= t.many/10 {
			tenth = max(tenth, now)
		}
	}
}

func countLines(name string) (int, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	first, err := bufio.NewReader(f).ReadString('\n')
	if err != nil {
		return 0, err
	}
	return int(info.Size()) / len(first), nil // the lines are nearly equal
}

// resident is the resident memory of a process.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, errors.New("the process has ended")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// simulatedAgent answers as an agent with two slots that executes every run at once.
func simulatedAgent(dir string) (socket string, stop func(), err error) {
	socket = filepath.Join(dir, "simulated")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return "", nil, err
	}
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text)) // a client that left gets nothing
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", answer(`{"run_id":"x","verdict":"ok","stage":"run","exit_code":0,"limits_hit":[],"usage":{},"timing":{},"stdout":"","stderr":"","limits":{}}`))
	mux.HandleFunc("GET /v1/health", answer(`{"slots":2}`))
	mux.HandleFunc("GET /v1/languages", answer(`[]`))
	mux.HandleFunc("GET /v1/images", answer(`[]`))
	server := &http.Server{Handler: mux}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(l) }) // http.ErrServerClosed
	return socket, func() {
		_ = server.Close() // it only served this
		all.Wait()
	}, nil
}

// manyWorkers has simulated workers, in a process of their own, execute jobs that take 20 ms.
func (t *tool) manyWorkers(ctx context.Context) error {
	if t.workers == 0 {
		return nil
	}
	url, stop, err := startEngine(ctx, t.dir)
	if err != nil {
		return err
	}
	defer stop()
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	workers := exec.CommandContext(ctx, exe, workersArgument, url, strconv.Itoa(t.workers))
	workers.Stderr = os.Stderr
	out, err := workers.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := workers.StdinPipe()
	if err != nil {
		return err
	}
	if err := workers.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() { // they are connected
		return errors.Join(errors.New("the workers did not start"), workers.Wait())
	}
	k := kind{jobs: 20 * t.workers, run: api.Run{Image: "none", Argv: []string{"/bin/true"}}}
	name := filepath.Join(t.dir, "jobs.jsonl")
	if err := writeJobs(name, k); err != nil {
		return err
	}
	var most atomic.Int64
	watch, end := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for watch.Err() == nil {
			if n, err := resident(engineProcess); err == nil {
				most.Store(max(most.Load(), n))
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	b, err := t.batchFile(ctx, name, "--local", "none", "--engine", url)
	end()
	watcher.Wait()
	if err != nil {
		return err
	}
	if err := in.Close(); err != nil {
		return err
	}
	if !lines.Scan() {
		return errors.Join(errors.New("the workers did not report"), workers.Wait())
	}
	var least, greatest int
	if _, err := fmt.Sscanf(lines.Text(), "%d %d", &least, &greatest); err != nil {
		return err
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	t.report.add(fmt.Sprintf("%d simulated workers (20 ms a job), jobs per second", t.workers), "at least 1000", b.rate >= 1000, "%.0f", b.rate)
	t.report.add("jobs of the worker with the fewest and with the most", "none starved", least > 0, "%d and %d of %d", least, greatest, k.jobs)
	t.report.add("memory of the engine with them, resident", "at most 250 MiB", most.Load() <= 250<<20, "%.0f MiB", float64(most.Load())/(1<<20))
	return nil
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
		engine, err := jetstream.Connect(jetstream.Target{URL: args[0], Worker: fmt.Sprintf("w%d", i)})
		if err != nil {
			return err
		}
		defer engine.Close()
		source := func(urgent bool) func() worker.Source {
			return func() worker.Source {
				s := engine.Source("default", urgent)
				return func(ctx context.Context) (worker.Delivery, error) { return s.Next(ctx) }
			}
		}
		w := &worker.Worker{Name: fmt.Sprintf("w%d", i), Slots: 1, Jobs: source(false), Urgent: source(true), Drain: time.Second,
			Blob: func(ctx context.Context, digest string) ([]byte, error) { return engine.Blob(ctx, digest) },
			Execute: func(context.Context, api.Run) (api.Result, error) {
				counts[i].Add(1)
				time.Sleep(20 * time.Millisecond)
				return api.Result{Verdict: api.OK}, nil
			},
			Healthy: func(context.Context) error { return nil },
		}
		if i == 0 {
			if err := engine.Prepare(ctx, "default"); err != nil {
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
	least, most := counts[0].Load(), int64(0)
	for i := range counts {
		least, most = min(least, counts[i].Load()), max(most, counts[i].Load())
	}
	fmt.Println(least, most)
	return nil
}
