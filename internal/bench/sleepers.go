package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// sleepFor is how long each sleeper sleeps: longer than it takes to start all of them.
const sleepFor = 25 * time.Second

// startSleepersAgent starts an agent with a slot for each sleeper.
func (b *bench) startSleepersAgent(ctx context.Context) (*agent, error) {
	n := b.cfg.sleepers
	dir := filepath.Join(b.agent.Dir, "sleepers")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o711); err != nil {
		return nil, err
	}

	a, err := startAgent(ctx, b.secondAgent(), dir, "--slots", strconv.Itoa(n), "--memory", fmt.Sprintf("%dM", 16*n))
	if err != nil {
		return nil, fmt.Errorf("%d sleepers (--sleepers N changes the number): %w", n, err)
	}
	return a, nil
}

// canSleep returns an error if this host does not allow so many sleepers, for example because of its
// limit on open files: known before the measurements that take minutes.
func (b *bench) canSleep(ctx context.Context) error {
	if b.cfg.sleepers == 0 {
		return nil
	}
	a, err := b.startSleepersAgent(ctx)
	if err != nil {
		return err
	}
	return a.Stop()
}

// sleepers runs many programs that sleep at the same time, each in its own slot and cell.
func (b *bench) sleepers(ctx context.Context) (err error) {
	n := b.cfg.sleepers
	if n == 0 {
		return nil
	}

	a, err := b.startSleepersAgent(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()

	free, err := available()
	if err != nil {
		return err
	}

	var wg sync.WaitGroup
	errs := make([]error, n)

	// The agent reserves memory for the largest result of each run: by default too much for so many.
	run := api.Run{
		Image: b.cfg.own.Name, Argv: []string{"sleep", strconv.Itoa(int(sleepFor.Seconds()))},
		Limits: api.Limits{Memory: 16 * api.MiB, Pids: 4, Output: 64 * api.KiB}, Collect: api.Collect{None: true},
	}
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			res, err := a.Client.Run(ctx, run)
			if err == nil && res.Verdict != api.OK {
				err = fmt.Errorf("a sleeper's verdict is %s", res.Verdict)
			}
			errs[i] = err
		})
	}

	lowest, together := free, 0
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }() // ends with the runs

	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-time.After(200 * time.Millisecond):
			now, err := available()
			if err != nil {
				return err
			}
			lowest = min(lowest, now)
			if p, err := a.sleeping(); err == nil {
				together = max(together, p)
			}
		}
	}

	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) > 0 {
		return fmt.Errorf("%d of %d sleepers failed, the first because: %w", len(errs), n, errs[0])
	}

	b.atLeast(fmt.Sprintf("programs that sleep concurrently, of %d", n), float64(together), float64(n), "")
	b.atMost("memory of these programs, with cells and kernel objects",
		float64(free-lowest)/float64(n)/(1<<20), 16, "MiB each")
	b.atMost("time until the last of them ended", (time.Since(start) - sleepFor).Seconds(), 30, "s more than its sleep")
	return nil
}

// sleeping counts the programs named sleep that exist now.
func (a *agent) sleeping() (int, error) {
	comms, err := filepath.Glob("/proc/[0-9]*/comm")
	n := 0
	for _, c := range comms {
		if text, err := os.ReadFile(c); err == nil && strings.TrimSpace(string(text)) == "sleep" {
			n++
		}
	}
	return n, err
}

// available returns the kernel's estimate of the available memory, in bytes.
func available() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}
