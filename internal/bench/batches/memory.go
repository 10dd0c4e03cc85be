package main

import (
	"bufio"
	"bytes"
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
	"time"

	"github.com/brig-sandbox/brig/api"
)

// memory measures brig batch over many tiny jobs, on an agent that answers at once: with the queue of one machine,
// and with an engine that workers elsewhere could use.
func (t *tool) memory(ctx context.Context) error {
	if t.many == 0 {
		return nil
	}

	socket, stop, err := simulatedAgent(t.dir)
	if err != nil {
		return err
	}
	defer stop()

	if err := t.memoryOver(ctx, t.many, "", "--socket", socket); err != nil {
		return err
	}

	address, err := freeAddress()
	if err != nil {
		return err
	}

	keys := filepath.Join(t.dir, "keys")
	if out, err := exec.CommandContext(ctx, t.brig, "worker-key", "w", "--engine", "tls://"+address, "--keys",
		keys).CombinedOutput(); err != nil {
		return fmt.Errorf("brig worker-key: %w: %s", err, out)
	}

	return t.memoryOver(ctx, t.many/5, " with its embedded engine", "--socket", socket, "--engine-listen",
		address, "--keys", keys)
}

// memoryOver measures brig batch over n jobs: after a tenth of them, and the most.
func (t *tool) memoryOver(ctx context.Context, n int, how string, flags ...string) error {
	k := kind{jobs: n, run: api.Run{Image: "none", Argv: []string{"/bin/true"}}}
	in, out := filepath.Join(t.dir, "many.jsonl"), filepath.Join(t.dir, "many.out")
	if err := writeJobs(in, k); err != nil {
		return err
	}

	cmd := exec.CommandContext(ctx, t.brig,
		append([]string{"batch", in, "-o", out, "--quiet", "--keep", "summary"}, flags...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var tenth, maximum int64
	for {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("brig batch: %w: %s", err, stderr.String())
			}
			rate := float64(n) / time.Since(began).Seconds()
			t.report.add(fmt.Sprintf("memory of `brig batch`%s over %d tiny jobs, most resident", how, n), "at most 120 MiB",
				maximum <= 120<<20, "%.0f MiB (%.0f jobs/s on a simulated agent)", float64(maximum)/(1<<20), rate)
			more := maximum - tenth // its ids take ten bytes each, and so much again for the collector
			t.report.add("the same, more than in the first tenth", "at most 24 bytes a job, or 8 MiB if that is more",
				more <= max(24*int64(n), 8<<20), "%.0f MiB, %.0f bytes a job", float64(more)/(1<<20), float64(more)/float64(n))
			return os.Remove(out)
		case <-time.After(100 * time.Millisecond):
		}

		now, err := resident(cmd.Process.Pid)
		if err != nil {
			continue // it has just ended
		}

		maximum = max(maximum, now)
		lines, err := countLines(out)
		if err == nil && lines <= n/10 {
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
	mux.HandleFunc("POST /v1/runs",
		answer(`{"run_id":"x","verdict":"ok","stage":"run","exit_code":0,"limits_hit":[],"usage":{},"timing":{},"stdout":"","stderr":"","limits":{}}`))
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
