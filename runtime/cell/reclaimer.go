package cell

import (
	"log/slog"
	goruntime "runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// reclaimer has the kernel free the memory that ended runs left charged to their groups, one group
// after the other. No run waits for it: a million directory entries that were looked up take 0.4 s
// of a processor, and 2 s on a busy host. The goroutine lives as long as there is work. The zero
// value with log set is ready for use.
type reclaimer struct {
	log *slog.Logger

	mu      sync.Mutex
	jobs    []func(stopping bool) error // guarded by mu
	running bool                        // guarded by mu
	stopped bool                        // guarded by mu
	done    sync.WaitGroup
}

// maxReclaimJobs is how many groups may wait to be freed. Beyond that the slots free their groups
// themselves and wait; otherwise runs could leave more than one goroutine can free.
const maxReclaimJobs = 16

// add queues a job; false: too many are waiting, or the host is closing.
func (f *reclaimer) add(job func(stopping bool) error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || len(f.jobs) >= maxReclaimJobs {
		return false
	}
	f.jobs = append(f.jobs, job)
	if !f.running {
		f.running = true
		f.done.Go(f.run)
	}
	return true
}

// run does the queued jobs on a thread of lowest priority, which ends with the queue.
func (f *reclaimer) run() {
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

// Close finishes the queued jobs without freeing memory: the kernel frees it when the groups end.
// Nothing may be added afterwards.
func (f *reclaimer) Close() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.done.Wait()
}
