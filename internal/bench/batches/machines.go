package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/internal/testagent"
)

// A machine is an agent with one slot and a worker, on one processor.
type machine struct {
	name   string
	cpu    int
	agent  *testagent.Agent
	worker *exec.Cmd
}

// machines compares two workers, each with an agent on a processor of its own, with each of them alone. Two of them
// share their processors with the coordinator and the engine, and one does not: what these use is subtracted.
func (t *tool) machines(ctx context.Context) (err error) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return err
	}
	if own.Count() != 2 {
		t.report.add("two workers on one processor each", "at least 90 %", false,
			"this host has %d processors: not measured", own.Count())
		return nil
	}

	engine, err := startEngine(ctx, t.dir)
	if err != nil {
		return err
	}
	defer engine.stop()

	var all []*machine
	defer func() {
		for _, m := range all {
			err = errors.Join(err, m.agent.Stop())
		}
	}()

	for cpu := range 1024 {
		if !own.IsSet(cpu) {
			continue
		}

		m := &machine{name: fmt.Sprintf("m%d", cpu), cpu: cpu}
		dir := filepath.Join(t.dir, m.name)
		if err := os.Mkdir(dir, 0o711); err != nil {
			return err
		}

		shared := t.own
		shared.Image, shared.Store = "", t.agent.Data
		if err := onProcessor(cpu,
			func() error { m.agent, err = testagent.Start(ctx, shared, dir, "--slots", "1"); return err }); err != nil {
			return err
		}

		all = append(all, m)
	}

	k := kind{"", t.jobs / 20, api.Run{Language: "python", Source: api.Bytes(pythonSource), Tests: tests(6)}}
	if t.own.Name != "python" {
		k = kind{"", t.jobs / 2, api.Run{Image: t.own.Name, Argv: []string{"/bin/true"}}}
	}

	for _, m := range all {
		for range 3 { // its template
			if _, err := m.agent.Client.Run(ctx, k.run); err != nil {
				return err
			}
		}
	}

	var share, whole, cost []float64
	for range t.rounds {
		var alone float64
		for i, m := range all {
			b, _, err := t.onMachines(ctx, k, engine, all[1-i].cpu, m)
			if err != nil {
				return err
			}
			alone += b.rate
		}

		double := k
		double.jobs *= 2
		b, others, err := t.onMachines(ctx, double, engine, -1, all...)
		if err != nil {
			return err
		}

		seconds := float64(double.jobs) / b.rate
		left := (2*seconds - others.Seconds()) / 2 // that each processor had for its worker
		share = append(share, 100*float64(double.jobs)/left/alone)
		whole = append(whole, 100*b.rate/alone)
		cost = append(cost, milliseconds(others)/float64(double.jobs))
	}

	t.report.add("two workers on one processor each, relative to both alone, without what coordinator and engine use",
		"at least 90 %", median(share) >= 90,
		"%.0f %% (%.0f %% with it: %.2f ms a job)", median(share), median(whole), median(cost))
	return nil
}

// onMachines runs a batch on the workers of machines. The coordinator is on a processor; negative: on any. others is
// the processor time of the coordinator and the engine.
func (t *tool) onMachines(ctx context.Context, k kind, e *engine, cpu int,
	machines ...*machine) (b batchResult, others time.Duration, err error) {
	for _, m := range machines {
		m.worker = exec.CommandContext(ctx, t.brig, "worker", "--engine", e.url, "--name", m.name, "--socket",
			filepath.Join(m.agent.Dir, "brigd.sock"), "--quiet")
		m.worker.Stderr = os.Stderr
		if err := onProcessor(m.cpu, m.worker.Start); err != nil {
			return b, 0, err
		}
		defer func() {
			err = errors.Join(err, m.worker.Process.Signal(unix.SIGTERM), m.worker.Wait())
		}()
	}

	before, err := procfs.CPUTime(e.cmd.Process.Pid)
	if err != nil {
		return b, 0, err
	}

	run := func() (err error) {
		b, err = t.batch(ctx, k, "--local", "none", "--engine", e.url)
		return err
	}
	if cpu >= 0 {
		err = onProcessor(cpu, run)
	} else {
		err = run()
	}
	if err != nil {
		return b, 0, err
	}

	after, err := procfs.CPUTime(e.cmd.Process.Pid)
	return b, after - before + b.cpu, err
}

// onProcessor calls do, which starts a process, on one processor: the process inherits that.
func onProcessor(cpu int, do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, unix.SchedSetaffinity(0, &before))
}
