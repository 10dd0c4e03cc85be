package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A bare command is spawned by the C loop in internal/bench/spawn. It has root as its root
// directory, and the directory box at /box unless that is "-".
type bare struct {
	root, box string
	one       bool // it may use one processor only
	argv      []string
}

func (b bare) onOne() bare {
	b.one = true
	return b
}

// spawn runs the C loop in as many processes as there are clients.
func (b bare) spawn(ctx context.Context, spawner string, clients, count int, gap time.Duration) (sample, error) {
	processors := "all"
	if b.one {
		processors = "one"
	}

	outs := make([]bytes.Buffer, clients)
	cmds := make([]*exec.Cmd, clients)
	start := time.Now()
	for i := range cmds {
		cmds[i] = exec.CommandContext(ctx, spawner,
			append([]string{b.root, b.box, processors, strconv.Itoa(count),
				strconv.Itoa(int(gap.Microseconds()))}, b.argv...)...)
		cmds[i].Stdout, cmds[i].Stderr = &outs[i], os.Stderr
		if err := cmds[i].Start(); err != nil {
			return sample{}, err
		}
	}

	var s sample
	var err error
	for i, c := range cmds {
		err = errors.Join(err, c.Wait())
		for sc := bufio.NewScanner(&outs[i]); sc.Scan(); {
			ns, perr := strconv.ParseInt(sc.Text(), 10, 64)
			if perr != nil {
				return s, perr
			}
			s.took = append(s.took, time.Duration(ns))
		}
	}

	s.wall = time.Since(start)
	return s, err
}

// A runner executes one run, on an agent or a service.
type runner func(context.Context, api.Run) (api.Result, error)

// sandboxed runs the program through the agent. An agent does not queue, so clients
// beyond its slots wait here, as they would in a gateway; the wait is included.
func sandboxed(ctx context.Context, run runner, r api.Run, clients, slots, count int,
	gap time.Duration) (sample, error) {
	gate := make(chan struct{}, slots)
	parts := make([][]time.Duration, clients)
	errs := make([]error, clients)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for range count {
				if gap > 0 {
					time.Sleep(gap)
				}

				t := time.Now()
				gate <- struct{}{}
				res, err := run(ctx, r)
				<-gate
				if err == nil && (res.Verdict != api.OK || res.ExitCode != 0) {
					err = fmt.Errorf("run %s: verdict %s, exit code %d; want ok", res.Run, res.Verdict, res.ExitCode)
				}
				if err != nil {
					errs[i] = err
					return
				}

				parts[i] = append(parts[i], time.Since(t))
			}
		})
	}

	wg.Wait()
	s := sample{wall: time.Since(start)}
	for _, p := range parts {
		s.took = append(s.took, p...)
	}
	return s, errors.Join(errs...)
}

// command times a whole command line, for sandboxes that are command-line programs. Stdin is a pipe that has ended:
// runc 1.1.5 gives stdin to the user of the container, and would give the host's /dev/null.
func command(ctx context.Context, count int, argv ...string) (sample, error) {
	var s sample
	stdin, end, err := os.Pipe()
	if err != nil {
		return s, err
	}
	defer stdin.Close()
	if err := end.Close(); err != nil {
		return s, err
	}

	start := time.Now()
	for range count {
		t := time.Now()
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Stdin = stdin
		if out, err := c.CombinedOutput(); err != nil {
			return s, fmt.Errorf("%s: %w: %s", argv[0], err, out)
		}
		s.took = append(s.took, time.Since(t))
	}
	s.wall = time.Since(start)
	return s, nil
}
