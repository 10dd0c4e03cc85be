package calls

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// A lock of a whole file (flock) belongs to an open file, which has no fixed owner: dup moves it to
// another descriptor, fork to another process, and a mapped file needs no descriptor at all. So
// such locks are counted only while all tasks of the run sleep. As long as a task runs, each call
// that may have made a lock counts as a held lock (MEM-41).

// sleepingTasks lists the tasks of processes, each with its number of context switches. It succeeds if
// all of them sleep and the group has no other tasks; tasks returns the number of tasks in the
// group. Equal lists before and after a scan show that no task has run in between. Without
// CONFIG_KALLSYMS no task is known to sleep.
func sleepingTasks(pids []int, tasks func() (int64, error), limit scanBudget) (map[int]int64, bool) {
	sleeping := map[int]int64{}
	for _, pid := range pids {
		names, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return nil, false
		}

		for _, t := range names {
			task, err := strconv.Atoi(t.Name())
			if err != nil || limit.over() {
				return nil, false
			}
			before, ok := contextSwitches(task)
			if !ok || !isSleeping(task) {
				return nil, false
			}
			if after, ok := contextSwitches(task); !ok || after != before {
				return nil, false
			}
			sleeping[task] = before
		}
	}

	n, err := tasks()
	return sleeping, err == nil && n == int64(len(sleeping))
}

// contextSwitches is the number of context switches of a task, voluntary or not.
func contextSwitches(task int) (n int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", task))
	if err != nil {
		return 0, false
	}

	found := 0
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.HasSuffix(name, []byte("voluntary_ctxt_switches")) { // also matches nonvoluntary
			one, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil {
				return 0, false
			}
			n += one
			found++
		}
	}

	return n, found == 2
}

// isSleeping reports whether a task waits in the kernel, off its processor and its run queue: only then
// wchan names a function (fs/proc/base.c, proc_pid_wchan; get_wchan).
func isSleeping(task int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", task))
	return err == nil && len(text) > 0 && string(text) != "0"
}

// mappedFiles counts the mappings of files in the memory of processes: there may be as many open
// files without a descriptor. ok is false when the time is over.
func mappedFiles(pids []int, buf *bufio.Reader, limit scanBudget) (n int, ok bool) {
	for _, pid := range pids {
		f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return 0, false
		}

		buf.Reset(f)
		for err == nil {
			var line []byte
			line, err = buf.ReadSlice('\n')
			if fields := bytes.SplitN(line, []byte(" "), 5); len(fields) == 5 && string(fields[3]) != "00:00" {
				n++
			}
			if limit.over() {
				err = errNotCounted
			}
		}

		_ = f.Close()
		if !errors.Is(err, io.EOF) {
			return 0, false
		}
	}

	return n, true
}
