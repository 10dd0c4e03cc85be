package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/procfs"
)

// privateMemory is the memory that only one process has, of all processes in cells of the agent, in bytes.
func (a *agent) privateMemory() (total int64, err error) {
	all, err := procfs.Processes()
	if err != nil {
		return 0, err
	}
	for _, pid := range procfs.Descendants(all, a.Cmd.Process.Pid) {
		if pid == a.Cmd.Process.Pid || all[pid].Name == "imagefiles" {
			continue
		}
		n, err := privateOf(pid)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH) { // it has ended
			return 0, err
		}
		total += n
	}
	return total, nil
}

// privateOf is the memory that only this process has, in bytes.
func privateOf(pid int) (n int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(text)) {
		if field := strings.Fields(line); strings.HasPrefix(line, "Private_") && len(field) > 1 {
			kib, err := strconv.ParseInt(field[1], 10, 64)
			if err != nil {
				return 0, err
			}
			n += kib << 10
		}
	}
	return n, err
}

// ownPython is the private memory of the interpreter alone, with the modules that each program gets.
func ownPython(root string) (n int64, err error) {
	cmd := exec.Command("python3", "-c", "import sys; print(flush=True); sys.stdin.read()")
	cmd.Path, cmd.Dir = "/usr/bin/python3", "/"
	if _, err := os.Stat(filepath.Join(root, "usr/local/bin/python3")); err == nil {
		cmd.Path = "/usr/local/bin/python3"
	}
	cmd.SysProcAttr = &unix.SysProcAttr{Chroot: root}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the interpreter alone: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()

	if _, err := out.Read(make([]byte, 1)); err != nil {
		return 0, err
	}
	return privateOf(cmd.Process.Pid)
}

// idleFor is how long the processor time of sessions that wait is measured.
const idleFor = 20 * time.Second

// sleepingSessions makes many sessions, and measures what they take while nobody uses them.
func (b *bench) sleepingSessions(ctx context.Context) (err error) {
	n := b.cfg.sleepingSessions
	if n == 0 {
		return nil
	}

	dir := filepath.Join(b.agent.Dir, "waiting")
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	a, err := startAgent(ctx, b.secondAgent(), dir, "--sessions", strconv.Itoa(n), "--memory", fmt.Sprintf("%dM", 20*n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop()) }()

	free, err := available()
	if err != nil {
		return err
	}
	held := 0
	ask := api.SessionRequest{Image: b.cfg.own.Name,
		Limits: api.Limits{Memory: 16 * api.MiB, Scratch: api.MiB, Pids: 4}, ExecLimits: api.Limits{OpenFiles: 16}}
	begun := time.Now()
	for ; held < n; held++ {
		if _, err = a.Client.CreateSession(ctx, ask); err != nil {
			b.addLine("Of %d sessions %d were made: %v.", n, held, err)
			break
		}
	}

	took := time.Since(begun)
	time.Sleep(time.Second)
	left, err := available()
	if err != nil {
		return err
	}
	_, fds, err := a.memory()
	if err != nil {
		return err
	}

	agentBefore, cellsBefore, err := a.cpu()
	if err != nil {
		return err
	}
	time.Sleep(idleFor)
	agentAfter, cellsAfter, err := a.cpu()
	if err != nil {
		return err
	}

	idle := 100 * float64(agentAfter-agentBefore+cellsAfter-cellsBefore) / float64(idleFor)
	each := float64(free-left) / float64(max(held, 1)) / (1 << 20)
	b.addLine("%d sessions that wait, made in %.0f s: %d open files of the agent, %.2f MiB of the host's memory each, "+
		"%.3f %% of one processor together.", held, took.Seconds(), fds, each, idle)
	b.atLeast(fmt.Sprintf("sessions that wait, of %d", n), float64(held), float64(n), "")
	b.atMost("processor time of these sessions and their agent", idle, 0.5, "% of one processor")
	return nil
}
