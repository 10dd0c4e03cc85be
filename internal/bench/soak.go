package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// soakWindows is the number of parts of the endurance test. Before each part the
// plain spawn is measured, because only the ratio is reliable.
const soakWindows = 20

// soak runs the program many times and compares the end with the beginning: the
// time per run, and all resources that could grow.
func (b *bench) soak(ctx context.Context) error {
	n := b.cfg.soak / soakWindows / 2
	if n == 0 {
		return nil
	}

	before, err := b.agent.idleResources(ctx)
	if err != nil {
		return err
	}

	var ratio []float64
	for w := range soakWindows {
		fmt.Fprintf(os.Stderr, "endurance: %d of %d runs\n", 2*n*w, 2*n*soakWindows)
		base, err := b.plain().spawn(ctx, b.spawner, 2, 300, 0)
		if err != nil {
			return err
		}
		s, err := sandboxed(ctx, b.agent.Client.Run, b.run, 2, b.slots, n, 0)
		if err != nil {
			return err
		}
		ratio = append(ratio, base.rate()/s.rate())
	}

	after, err := b.agent.idleResources(ctx)
	if err != nil {
		return err
	}

	quarter := soakWindows / 4
	first, last := median(ratio[:quarter]), median(ratio[soakWindows-quarter:])
	b.atMost(fmt.Sprintf("time per run, last quarter of %d runs relative to the first", 2*n*soakWindows),
		100*(last/first-1), 5, "% more")
	b.atMost("growth of the agent's memory during these runs", float64(after.rss-before.rss)/(1<<20), 2, "MiB")
	b.atMost("growth in the agent's descriptors", float64(after.fds-before.fds), 0, "")
	b.atMost("growth in the agent's control groups", float64(after.groups-before.groups), 0, "")
	b.atMost("growth in the kernel's memory groups, including removed ones that it still keeps",
		float64(after.kernelGroups-before.kernelGroups), 10, "")
	b.atMost("growth in the agent's mounts", float64(after.mounts-before.mounts), 0, "")
	return nil
}

// resources are the resources of the machine that an agent uses.
type resources struct {
	rss          int64
	fds          int
	groups       int // directories below the agent's, in every hierarchy
	kernelGroups int // memory groups that the kernel still keeps, including removed ones
	mounts       int // in the agent's mount namespace
}

// idleResources samples for one second and returns the sample with the fewest descriptors: the
// shell of the last run is destroyed, and the next one is made, after the answer.
func (a *agent) idleResources(ctx context.Context) (minimum resources, err error) {
	for i := range 10 {
		h, err := a.resources()
		if err != nil {
			return h, err
		}
		if i == 0 || h.fds < minimum.fds {
			minimum = h
		}
		select {
		case <-ctx.Done():
			return minimum, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}

	return minimum, nil
}

func (a *agent) resources() (h resources, err error) {
	if h.rss, h.fds, err = a.memory(); err != nil {
		return h, err
	}

	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", a.Cmd.Process.Pid))
	if err != nil {
		return h, err
	}

	h.mounts = strings.Count(string(mounts), "\n")
	groups, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return h, err
	}

	for line := range strings.Lines(string(groups)) {
		var name string
		var hierarchy, count int
		if _, err := fmt.Sscan(line, &name, &hierarchy, &count); err == nil && name == "memory" {
			h.kernelGroups = count
		}
	}

	tops, err := a.groupTops()
	for _, top := range tops {
		err = filepath.WalkDir(top, func(_ string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				h.groups++
			}
			return nil // a group removed in the meantime does not count
		})
	}

	return h, err
}
