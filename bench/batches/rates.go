package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A kind is a kind of jobs.
type kind struct {
	name string
	jobs int
	run  api.Run
}

func tests(n int) []api.Test {
	all := make([]api.Test, n)
	for i := range all {
		expected := api.Bytes(fmt.Sprintln(2 * i))
		all[i] = api.Test{ID: strconv.Itoa(i + 1), Stdin: api.Bytes(fmt.Sprintln(i)), Expected: &expected}
	}
	return all
}

// rates compares brig batch with two clients of the agent's socket that send the same runs, in turns.
func (t *tool) rates(ctx context.Context) error {
	kinds := []kind{
		{"no-op", t.jobs, api.Run{Image: t.own.Name, Argv: []string{"/bin/true"}}},
		{"Python, 15 tests", t.jobs / 20, api.Run{Language: "python", Source: api.Bytes("print(int(input()) * 2)\n"), Tests: tests(15)}},
		{"C++, 15 tests", t.jobs / 20, api.Run{Language: "cpp", Source: api.Bytes("#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * 2 << '\\n'; }\n"), Tests: tests(15)}},
	}
	for _, k := range kinds {
		if _, err := t.agent.Client.Run(ctx, k.run); err != nil { // its template, or its compile stage
			if api.HasCode(err, api.CodeNoImage, api.CodeNoLanguage) {
				t.report.add(k.name, "-", true, "its image is not stored")
				continue
			}
			return fmt.Errorf("%s: %w", k.name, err)
		}
		var relative, cost, perSecond []float64
		for range t.rounds {
			socket, err := t.socketRate(ctx, k)
			if err != nil {
				return err
			}
			b, err := t.batch(ctx, k, "--socket", filepath.Join(t.agent.Dir, "brigd.sock"))
			if err != nil {
				return err
			}
			rate := b.rate
			relative = append(relative, 100*rate/socket)
			perSecond = append(perSecond, rate*float64(max(len(k.run.Tests), 1)))
			cost = append(cost, b.cpu.Seconds()*1000/float64(k.jobs))
		}
		t.report.add(fmt.Sprintf("rate of `brig batch`, %s, relative to the agent's socket", k.name), "at least 90 %", median(relative) >= 90, "%.0f %% (%.0f runs/s)", median(relative), median(perSecond))
		t.report.add(fmt.Sprintf("processor time of coordinator, engine and worker per job, %s", k.name), "at most 0.6 ms", median(cost) <= 0.6, "%.2f ms", median(cost))
	}
	return nil
}

// socketRate is the rate of runs with two clients that wait for a slot.
func (t *tool) socketRate(ctx context.Context, k kind) (float64, error) {
	jobs := make(chan struct{}, k.jobs)
	for range k.jobs {
		jobs <- struct{}{}
	}
	close(jobs)
	var all sync.WaitGroup
	failed := make([]error, 2)
	began := time.Now()
	for i := range failed {
		all.Go(func() {
			for range jobs {
				for failed[i] == nil {
					_, err := t.agent.Client.Run(ctx, k.run)
					if !api.HasCode(err, api.CodeBusy) {
						failed[i] = err
						break
					}
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	return float64(k.jobs) / time.Since(began).Seconds(), errors.Join(failed...)
}

// A batchResult is what a brig batch took.
type batchResult struct {
	rate   float64 // jobs per second, without the start of the process
	wall   time.Duration
	cpu    time.Duration
	memory int64 // most resident, in bytes
}

// batch runs brig batch on jobs of a kind.
func (t *tool) batch(ctx context.Context, k kind, flags ...string) (batchResult, error) {
	in := filepath.Join(t.dir, "jobs.jsonl")
	if err := writeJobs(in, k); err != nil {
		return batchResult{}, err
	}
	return t.batchFile(ctx, in, flags...)
}

func (t *tool) batchFile(ctx context.Context, in string, flags ...string) (batchResult, error) {
	out := filepath.Join(t.dir, "out.jsonl")
	args := append([]string{"batch", in, "-o", out, "--json", "--quiet", "--keep", "summary"}, flags...)
	cmd := exec.CommandContext(ctx, t.brig, args...)
	var summary, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &summary, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return batchResult{}, fmt.Errorf("brig batch: %w: %s", err, stderr.String())
	}
	wall := time.Since(began)
	var s struct {
		Done    int64   `json:"done"`
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(summary.Bytes(), &s); err != nil {
		return batchResult{}, err
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return batchResult{
		rate: float64(s.Done) / s.Seconds, wall: wall, memory: usage.Maxrss << 10,
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}, os.Remove(out)
}

// writeJobs writes the jobs of a kind: what they share in the first line.
func writeJobs(name string, k kind) error {
	var b bytes.Buffer
	first, err := json.Marshal(map[string]any{"defaults": k.run})
	if err != nil {
		return err
	}
	b.Write(first)
	for i := range k.jobs {
		fmt.Fprintf(&b, "\n{\"id\": \"job-%d\"}", i)
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}
