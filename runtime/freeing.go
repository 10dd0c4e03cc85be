package runtime

import (
	"errors"
	"log/slog"
	goruntime "runtime"
	"sync"

	"golang.org/x/sys/unix"

	groups "github.com/brig-sandbox/brig/cgroups"
)

// freeing has the kernel free what ended runs left charged to their groups, one group after
// the other: a million looked up names take 0.4 s of a processor, and 2 s on a busy host, which
// no run waits for. Its goroutine lives as long as there is work. The zero value but for log is ready.
type freeing struct {
	log *slog.Logger

	mu      sync.Mutex
	jobs    []func(stopping bool) error // guarded by mu
	running bool                        // guarded by mu
	stopped bool                        // guarded by mu
	done    sync.WaitGroup
}

// mostFreeing is how many groups may wait to be freed: beyond that the slots wait that make
// them, or runs would leave more than one goroutine can free.
const mostFreeing = 16

// add has a job done later, after those before it; false: too many wait, or the host closes.
func (f *freeing) add(job func(stopping bool) error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || len(f.jobs) >= mostFreeing {
		return false
	}
	f.jobs = append(f.jobs, job)
	if !f.running {
		f.running = true
		f.done.Go(f.work)
	}
	return true
}

// work does what there is, on a thread that gives way to everything else and ends with it.
func (f *freeing) work() {
	goruntime.LockOSThread()
	if err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19); err != nil {
		f.log.Warn("freeing at ordinary priority", "err", err)
	}
	for {
		f.mu.Lock()
		if len(f.jobs) == 0 {
			f.running = false
			f.mu.Unlock()
			return
		}
		job, stopping := f.jobs[0], f.stopped
		f.jobs = f.jobs[1:]
		f.mu.Unlock()
		if err := job(stopping); err != nil {
			f.log.Warn("memory left by a run not freed", "err", err)
		}
	}
}

// Close does what is left, without freeing anything more: with the groups' end the kernel
// frees what is asked for. Nobody may add anything afterwards.
func (f *freeing) Close() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.done.Wait()
}

// dropLeaf removes a leaf that no other run is to have. What its run made the kernel keep, and
// would stay the agent's when the group goes, is freed before, beside the runs (RES-12). Page cache
// alone is left: it is mostly of the image, and the next run wants it.
func (c *cell) dropLeaf(leaf *groups.Leaf) error {
	kernel, err := leaf.Kernel()
	if err != nil || kernel <= leftKernel {
		return errors.Join(err, leaf.Remove())
	}
	free := func(stopping bool) (err error) {
		if !stopping {
			err = leaf.Reclaim()
		}
		return errors.Join(err, leaf.Remove())
	}
	if c.freeing.add(free) {
		c.dropped = true
		return nil
	}
	return free(false)
}

// dropGroup removes the cell's groups, behind a leaf of it that is being freed.
func (c *cell) dropGroup() error {
	if c.dropped && c.freeing.add(func(bool) error { return c.group.Remove() }) {
		return nil
	}
	return c.group.Remove()
}
