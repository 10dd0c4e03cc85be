package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/internal/testagent"
)

// An agent is a separate brigd, with methods to measure it.
type agent struct{ *testagent.Agent }

func startAgent(ctx context.Context, o testagent.Options, dir string, flags ...string) (*agent, error) {
	a, err := testagent.Start(ctx, o, dir, flags...)
	if err != nil {
		return nil, err
	}
	return &agent{a}, nil
}

// cpu returns the processor time of the agent, and of all cells and runs.
func (a *agent) cpu() (agentTime, cellTime time.Duration, err error) {
	if agentTime, err = procfs.CPUTime(a.Cmd.Process.Pid); err != nil {
		return 0, 0, err
	}
	cellTime, err = a.cellCPU()
	return agentTime, cellTime, err
}

// groupTops returns the agent's own groups, one per hierarchy, from the record it keeps.
func (a *agent) groupTops() ([]string, error) {
	records, err := filepath.Glob(filepath.Join(a.Dir, "run", "*", "groups"))
	if err != nil || len(records) != 1 {
		return nil, fmt.Errorf("find the agent's groups: %d records, %w", len(records), err)
	}

	text, err := os.ReadFile(records[0])
	if err != nil {
		return nil, err
	}

	var tops []string
	for path := range strings.Lines(string(text)) {
		if path = strings.TrimSpace(path); strings.HasPrefix(filepath.Base(path), "brig-") {
			tops = append(tops, path)
		}
	}

	return tops, nil
}

// cellCPU is the processor time of everything below the agent's group.
func (a *agent) cellCPU() (time.Duration, error) {
	tops, err := a.groupTops()
	if err != nil {
		return 0, err
	}

	for _, path := range tops {
		if b, err := os.ReadFile(filepath.Join(path, "cpuacct.usage")); err == nil {
			ns, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
			return time.Duration(ns), err
		}
		if b, err := os.ReadFile(filepath.Join(path, "cpu.stat")); err == nil && !strings.Contains(path, "unified") {
			var us int64
			if _, err := fmt.Sscanf(string(b), "usage_usec %d", &us); err == nil {
				return time.Duration(us) * time.Microsecond, nil
			}
		}
	}

	return 0, errors.New("no control group of the agent accounts for processor time")
}

// memory returns the agent's resident size and its descriptors.
func (a *agent) memory() (rss int64, fds int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			rss = kib << 10
		}
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.Cmd.Process.Pid))
	return rss, len(entries), err
}
