// Package sysmon makes Go's monitor thread wake the processor less often.
//
// The monitor (package runtime, sysmon) repeatedly sleeps 20 us while there is work, and
// 10 ms when there has been none. The host's processors are meant for the sandboxed
// programs, but this took a third of the agent's processor time, and some 15 interrupts
// per run. With a timer slack of 10 ms on its thread (proc(5), timerslack_ns of another
// thread since Linux 4.6, with CAP_SYS_NICE) it always sleeps as long as when idle. The
// other threads keep their slack: Go lets one of them sleep 3 us before it steals work from
// another, and that sleep must not become longer.
package sysmon

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/internal/procfs"
)

const (
	monitorSlack = 10 * time.Millisecond
	defaultSlack = 50 * time.Microsecond // the kernel's default (kernel/fork.c, init_task)
	interval     = 10 * time.Second
)

// SlowMonitor sets the timer slack of the monitor thread. Without the privilege it returns
// fs.ErrPermission and changes nothing.
func SlowMonitor() error {
	threads, err := threads()
	if err != nil {
		return err
	}
	return set(threads[1], monitorSlack)
}

// RestoreInherited resets the slack of threads that the monitor creates, which inherit it, until ctx is
// done.
func RestoreInherited(ctx context.Context) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := restoreOnce(); err != nil {
			return err
		}
	}
}

func restoreOnce() error {
	threads, err := threads()
	if err != nil {
		return err
	}

	for i, thread := range threads {
		if i == 1 {
			continue
		}
		now, err := os.ReadFile(file(thread))
		if err == nil && strings.TrimSpace(string(now)) == strconv.FormatInt(int64(monitorSlack), 10) {
			err = set(thread, defaultSlack)
		}
		if err != nil && !procfs.IsEnded(err) { // the thread may have ended before or after the open
			return err
		}
	}

	return nil
}

// threads lists our threads by age, which is the order in which the kernel keeps them
// (fs/proc/base.c, proc_task_readdir; their numbers wrap around at pid_max). The first is
// the main thread, and the second is the monitor, which the runtime creates before anything
// else (package runtime, main; TestSecondThreadIsTheMonitor,
// TestThreadsAfterPidWrapAround).
func threads() ([]int, error) {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return nil, err
	}
	defer tasks.Close()

	names, err := tasks.Readdirnames(-1)
	if err != nil {
		return nil, err
	}

	var out []int
	for _, name := range names {
		n, err := strconv.Atoi(name)
		if err != nil {
			return nil, fmt.Errorf("thread %q: %w", name, err)
		}
		out = append(out, n)
	}

	if len(out) < 2 || out[0] != os.Getpid() {
		return nil, fmt.Errorf("threads %v of process %d: Go's monitor thread cannot be identified", out, os.Getpid())
	}
	return out, nil
}

func set(thread int, d time.Duration) error {
	return os.WriteFile(file(thread), strconv.AppendInt(nil, int64(d), 10), 0)
}

func file(thread int) string { return fmt.Sprintf("/proc/%d/timerslack_ns", thread) }
