// Package sysmon has Go's monitor thread wake the processor less often.
//
// The monitor (package runtime, sysmon) asks to sleep 20 us again and again while there
// is work, and 10 ms when there has been nothing for it to do. On a host whose
// processors belong to other people's programs that was a third of the agent's
// processor time, and some 15 interrupts a run. With a timer slack of 10 ms on its
// thread (proc(5), timerslack_ns of another thread since Linux 4.6, with CAP_SYS_NICE) it
// sleeps as long as when idle. The other threads keep theirs: Go has one of them sleep 3 us
// before it takes work from another, and that must not last.
package sysmon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	slack = 10 * time.Millisecond
	usual = 50 * time.Microsecond // the kernel's own (kernel/fork.c, init_task)
	every = 10 * time.Second
)

// Calm gives the monitor its slack. Without the privilege the error is fs.ErrPermission,
// and nothing has changed.
func Calm() error {
	threads, err := threads()
	if err != nil {
		return err
	}
	return set(threads[1], slack)
}

// Keep takes the slack back from threads that the monitor has made, which inherit it,
// until ctx is done.
func Keep(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := rouse(); err != nil {
			return err
		}
	}
}

func rouse() error {
	threads, err := threads()
	if err != nil {
		return err
	}
	for i, thread := range threads {
		if i == 1 {
			continue
		}
		now, err := os.ReadFile(file(thread))
		if err == nil && strings.TrimSpace(string(now)) == strconv.FormatInt(int64(slack), 10) {
			err = set(thread, usual)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) { // it may have ended, before it was opened or after
			return err
		}
	}
	return nil
}

// threads lists ours by their age, which is the order the kernel keeps them in (fs/proc/base.c,
// proc_task_readdir; their numbers begin anew at pid_max): the first is main's, and the
// second the monitor, which the runtime makes before anything else (package runtime, main;
// TestSecondThreadIsTheMonitor, TestThreadsWhoseNumbersBeganAnew).
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
		return nil, fmt.Errorf("threads %v of process %d: none is known to be Go's monitor", out, os.Getpid())
	}
	return out, nil
}

func set(thread int, d time.Duration) error {
	return os.WriteFile(file(thread), strconv.AppendInt(nil, int64(d), 10), 0)
}

func file(thread int) string { return fmt.Sprintf("/proc/%d/timerslack_ns", thread) }
