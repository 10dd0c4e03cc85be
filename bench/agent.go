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

	"github.com/brig-sandbox/brig/client"
	"github.com/brig-sandbox/brig/rootfs"
)

// An agent is a brigd of our own.
type agent struct {
	cmd    *exec.Cmd
	client *client.Client
	dir    string
	data   string // of the image store
	tree   string // of the image, for the plain spawn
}

// startAgent starts one whose files are below dir, with more flags than it needs.
func startAgent(ctx context.Context, cfg config, dir string, flags ...string) (*agent, error) {
	store := cfg.store
	if store == "" {
		store = filepath.Join(dir, "data")
	}
	socket := filepath.Join(dir, "brigd.sock")
	a := &agent{dir: dir, data: store, client: client.New(socket)}
	a.cmd = exec.Command(filepath.Join(cfg.bin, "brigd"), "--socket", socket, "--data-dir", store, "--run-dir", filepath.Join(dir, "run"))
	a.cmd.Args = append(a.cmd.Args, flags...)
	log, err := os.Create(filepath.Join(dir, "brigd.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	a.cmd.Stderr = log
	start := time.Now()
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	for {
		_, err := a.client.Health(ctx)
		if err == nil {
			break
		}
		if time.Since(start) > 10*time.Second {
			text, _ := os.ReadFile(log.Name())
			return nil, errors.Join(fmt.Errorf("brigd does not answer: %w\n%s", err, text), a.stop())
		}
		time.Sleep(time.Millisecond)
	}
	if cfg.image != "" {
		if err := a.load(ctx, cfg.image, cfg.name); err != nil {
			return nil, errors.Join(err, a.stop())
		}
	}
	s, err := rootfs.Open(filepath.Join(store, "images"))
	if err == nil {
		var img rootfs.Image
		if img, err = s.Lookup(cfg.name); err == nil {
			a.tree = img.Path
			return a, nil
		}
	}
	return nil, errors.Join(err, a.stop())
}

func (a *agent) load(ctx context.Context, archive, name string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = a.client.Import(ctx, f, name, "")
	return err
}

func (a *agent) stop() error {
	a.client.Close()
	err := a.cmd.Process.Signal(unix.SIGTERM)
	if werr := a.cmd.Wait(); werr != nil {
		err = errors.Join(err, werr)
	}
	return err
}

// cpu is the processor time of the agent, and of all cells and runs.
func (a *agent) cpu() (agentTime, cellTime time.Duration, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", a.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, v := range f[11:13] { // utime, stime in ticks of 10 ms
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		agentTime += time.Duration(n) * 10 * time.Millisecond
	}
	cellTime, err = a.cellCPU()
	return agentTime, cellTime, err
}

// groupTops are the agent's own groups, one a hierarchy, by the record it keeps.
func (a *agent) groupTops() ([]string, error) {
	records, err := filepath.Glob(filepath.Join(a.dir, "run", "*", "groups"))
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
	return 0, errors.New("no group of the agent accounts processor time")
}

// memory returns the agent's resident size and its descriptors.
func (a *agent) memory() (rss int64, fds int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			rss = kib << 10
		}
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.cmd.Process.Pid))
	return rss, len(entries), err
}
