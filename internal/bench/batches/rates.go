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
	"runtime"
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

const (
	pythonSource = "print(int(input()) * 2)\n"
	cppSource    = "#include <iostream>\nint main() { int n; std::cin >> n; std::cout << n * 2 << '\\n'; }\n"
)

// rates compares brig batch with clients of the agent's socket that send the same runs, in turns.
func (t *tool) rates(ctx context.Context) error {
	socket := filepath.Join(t.agent.Dir, "brigd.sock")
	none := kind{jobs: 1, run: api.Run{Image: t.own.Name, Argv: []string{"/bin/true"}}}

	// The start of the process is no cost of its jobs. It is measured alone, so that it can be left out
	// below.
	var start []float64
	for range 5 {
		b, err := t.batch(ctx, none, "--socket", socket)
		if err != nil {
			return err
		}
		start = append(start, milliseconds(b.cpu))
	}

	t.report.add("processor time of `brig batch` for one job: its start, which the next lines leave out", "-", true,
		"%.0f ms", median(start))

	for _, k := range []kind{
		{"no-op", t.jobs, none.run},
		{"Python, 15 tests", t.jobs / 20, api.Run{Language: "python", Source: api.Bytes(pythonSource), Tests: tests(15)}},
		{"C++, 15 tests", t.jobs / 20, api.Run{Language: "cpp", Source: api.Bytes(cppSource), Tests: tests(15)}},
		{"Python, 6 tests", t.jobs / 10, api.Run{Language: "python", Source: api.Bytes(pythonSource), Tests: tests(6)}},
	} {
		warm, err := t.warm(ctx, k)
		if err != nil {
			return err
		}
		if warm == nil {
			continue
		}

		var relative, cost, perSecond []float64

		// A round measures both in turn, and its ratio counts: the load of the machine changes from round to
		// round.
		for range t.rounds {
			r, err := t.round(ctx, k, socket)
			if err != nil {
				return err
			}
			relative = append(relative, 100*r.batch.rate/max(r.oneClient, r.twoClients))
			perSecond = append(perSecond, r.batch.rate)
			cost = append(cost, (milliseconds(r.batch.cpu)-median(start))/float64(k.jobs))
		}

		runs := median(perSecond) * float64(max(len(k.run.Tests), 1))
		t.report.add(fmt.Sprintf("rate of `brig batch`, %s, relative to the agent's socket", k.name), "at least 90 %",
			median(relative) >= 90, "%.0f %% (%.0f runs/s)", median(relative), runs)
		t.report.add(fmt.Sprintf("processor time of coordinator, queue and worker per job, %s", k.name), "at most 0.6 ms",
			median(cost) <= 0.6, "%.2f ms", median(cost))
		if len(k.run.Tests) == 6 {
			each, how := median(perSecond)/float64(runtime.NumCPU()), "with templates"
			if !warm.Host.Template {
				how = "without a template: " + warm.Host.Cold
			}
			t.report.add("Python problems of 6 tests, for each processor and second", "at least 25", each >= 25 &&
				warm.Host.Template, "%.0f, %s", each, how)
		}
	}

	return nil
}

// warm has the agent make the template of a kind, or what its compile stage makes; nil: there is no image.
func (t *tool) warm(ctx context.Context, k kind) (*api.Result, error) {
	var res api.Result
	for range 20 {
		var err error
		if res, err = t.agent.Client.Run(ctx, k.run); err != nil {
			if api.HasCode(err, api.CodeNoImage, api.CodeNoLanguage) {
				t.report.add(k.name, "-", true, "its image is not stored")
				return nil, nil
			}
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		if k.run.Language != "python" || res.Host.Template {
			break
		}
	}

	return &res, nil
}

// A round is one comparison. The clients of the socket are one that always waits for its run, and two: a run with
// tests has all slots of the agent, so that two such runs get in each other's way.
type round struct {
	oneClient, twoClients float64 // jobs per second
	batch                 batchResult
}

func (t *tool) round(ctx context.Context, k kind, socket string) (r round, err error) {
	if r.twoClients, err = t.socketRate(ctx, k, 2); err != nil {
		return r, err
	}
	if r.batch, err = t.batch(ctx, k, "--socket", socket); err != nil {
		return r, err
	}
	r.oneClient, err = t.socketRate(ctx, k, 1)
	return r, err
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// socketRate is the rate of runs with so many clients that wait for a slot. A client's next try comes soon.
func (t *tool) socketRate(ctx context.Context, k kind, clients int) (float64, error) {
	jobs := make(chan struct{}, k.jobs)
	for range k.jobs {
		jobs <- struct{}{}
	}

	close(jobs)
	var all sync.WaitGroup
	failed := make([]error, clients)
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
