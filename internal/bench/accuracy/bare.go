package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// emptyProgram compares a program that ends immediately with the same program outside the
// sandbox.
func (t *tool) emptyProgram(ctx context.Context) error {
	n := 300 / t.scale
	bareCPU, _, err := t.bare(ctx, "-", n, "burn", "work", "0")
	if err != nil {
		return err
	}

	// Each peak is measured in a separate group: the kernel charges 64 pages at a time,
	// and the unused rest of them would hide pages of the next program.
	var bareMemory []time.Duration
	for range n / 10 {
		group, remove, err := memoryGroup()
		if err != nil {
			return err
		}
		_, peak, err := t.bare(ctx, group, 1, "burn", "work", "0")
		remove()
		if err != nil {
			return err
		}
		bareMemory = append(bareMemory, peak...)
	}

	var cpu, memory []time.Duration
	for range n {
		res, _, err := t.runKnown(ctx, t.program("burn", "work", "0"))
		if err != nil {
			return err
		}
		cpu = append(cpu, time.Duration(*res.Usage.CPU.Value))
		memory = append(memory, time.Duration(*res.Usage.Memory.Value))
	}

	in, out := quantile(cpu, .5), quantile(bareCPU, .5)
	t.report.row("processor time of a program that exits immediately, compared with bare", "within 0.3 ms",
		fmt.Sprintf("%.3f ms, bare %.3f ms", ms(in), ms(out)), math.Abs(ms(in-out)) <= 0.3)
	inM, outM := quantile(memory, .5), quantile(bareMemory, .5)
	const MiB = 1 << 20
	t.report.row("memory of the same program, compared with bare in a group", "within 1 MiB",
		fmt.Sprintf("%.2f MiB, bare %.2f MiB", float64(inM)/MiB, float64(outM)/MiB), math.Abs(float64(inM-outM)) <= MiB)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// bare runs a program outside the sandbox and returns its processor times, and its memory
// peaks in bytes.
func (t *tool) bare(ctx context.Context, group string, count int, name string,
	args ...string) (cpu, memory []time.Duration, err error) {
	argv := append([]string{group, fmt.Sprint(count), filepath.Join(t.dir, name)}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(t.dir, "bare"), argv...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("bare: %w", err)
	}

	for line := range strings.Lines(string(out)) {
		var c, m int64
		if _, err := fmt.Sscan(line, &c, &m); err != nil {
			return nil, nil, err
		}
		cpu, memory = append(cpu, time.Duration(c)), append(memory, time.Duration(m))
	}

	return cpu, memory, nil
}

// memoryGroup makes a group with memory accounting below our own group.
func memoryGroup() (dir string, remove func(), err error) {
	table, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", nil, err
	}

	for line := range strings.Lines(string(table)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		mount := map[string]string{"memory": "/sys/fs/cgroup/memory", "": "/sys/fs/cgroup"}[part[1]]
		if mount == "" {
			continue
		}

		dir = filepath.Join(mount, part[2], fmt.Sprintf("accuracy-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "memory.oom_control")); err == nil {
			return dir, func() { os.Remove(dir) }, nil
		}
		if _, err := os.Stat(filepath.Join(dir, "memory.peak")); err == nil {
			return dir, func() { os.Remove(dir) }, nil
		}

		os.Remove(dir)
	}

	return "", nil, errors.New("no memory group can be made below the group of this process: run the tool in its own control group")
}
