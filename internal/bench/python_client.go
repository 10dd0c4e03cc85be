package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/internal/procfs"
)

// gradedTests is the number of tests of each program of graded.py.
const gradedTests = 10

// graded is what graded.py says.
type graded struct {
	Seconds  float64  `json:"seconds"`
	CPU      float64  `json:"client_cpu"` // seconds
	Lost     int      `json:"lost"`
	Wrong    int      `json:"wrong"` // programs with another score than they should have
	Failures []string `json:"failures"`
	Plain    float64  `json:"plain_per_second"` // programs a second as plain subprocesses, two at a time
	PlainCPU float64  `json:"plain_cpu"`        // processor seconds of each of them

	Ratios []float64 `json:"ratios"` // of each round: the rate of the graded ones, relative to the plain ones
}

// pythonClient grades many programs by the Python client from one asyncio process, and compares their rate with
// that of plain subprocesses of the same interpreter, in turns.
func (b *bench) pythonClient(ctx context.Context) (err error) {
	if b.cfg.graded == 0 {
		return nil
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the Python client is skipped: there is no python3 on this host")
		return nil
	}

	s, err := b.serve("graded", "--batch-slots", strconv.Itoa(b.slots))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()

	before, err := b.allCPU(s)
	if err != nil {
		return err
	}

	plainly := max(b.cfg.graded/10, 20)
	script := exec.CommandContext(ctx, python, "-B", "internal/bench/graded/graded.py", s.URL, b.agent.Rootfs,
		strconv.Itoa(b.cfg.graded), strconv.Itoa(plainly))
	script.Env = append(os.Environ(), "PYTHONPATH=service/client/python")
	script.Stderr = os.Stderr
	out, err := script.Output()
	if err != nil {
		return fmt.Errorf("graded.py: %w", err)
	}

	var said graded
	if err := json.Unmarshal(bytes.TrimSpace(out), &said); err != nil {
		return fmt.Errorf("graded.py says %.200q: %w", out, err)
	}
	if len(said.Ratios) == 0 {
		return fmt.Errorf("graded.py says %.200q: it has no rounds", out)
	}

	after, err := b.allCPU(s)
	if err != nil {
		return err
	}

	used := after.since(before)
	whole := used.all().Seconds() + said.CPU
	each := float64(b.cfg.graded) / 1e3 // of seconds, the ms of a program
	rate := float64(b.cfg.graded) / said.Seconds
	b.addLine("%d Python programs with %d tests each, by `grade_many` from one asyncio process: %.1f programs/s, %.1f as plain "+
		"subprocesses, 2 at a time. Processor time per program: client %.2f ms, service %.1f ms, agent %.1f ms, cells and "+
		"programs %.1f ms; as plain subprocesses %.1f ms.", b.cfg.graded, gradedTests, rate, said.Plain, said.CPU/each,
		used.service.Seconds()/each, used.agent.Seconds()/each, used.cells.Seconds()/each, 1e3*said.PlainCPU)
	if len(said.Failures) > 0 {
		b.addLine("Failures, the first: %q.", said.Failures)
	}
	b.atMost("programs of `grade_many` without a result, or with a wrong one", float64(said.Lost+said.Wrong), 0, "")
	b.atMost("processor time of the client of `grade_many`, of that of all", 100*said.CPU/whole, 10, "%")
	slices.Sort(said.Ratios)
	b.addLine("In %d rounds, each of both, the rate was %.1f to %.1f times the plain one.", len(said.Ratios), said.Ratios[0],
		said.Ratios[len(said.Ratios)-1])
	b.atLeast("rate of `grade_many`, relative to plain subprocesses, median of the rounds", said.Ratios[len(said.Ratios)/2], 4, "x")
	return nil
}

// A usedCPU is the processor time of the service, of the agent, and of the cells with the runs.
type usedCPU struct{ service, agent, cells time.Duration }

func (u usedCPU) since(before usedCPU) usedCPU {
	return usedCPU{u.service - before.service, u.agent - before.agent, u.cells - before.cells}
}

func (u usedCPU) all() time.Duration { return u.service + u.agent + u.cells }

// allCPU is what was used until now.
func (b *bench) allCPU(s *service) (used usedCPU, err error) {
	if used.service, err = procfs.CPUTime(s.Cmd.Process.Pid); err != nil {
		return used, err
	}
	used.agent, used.cells, err = b.agent.cpu()
	return used, err
}
