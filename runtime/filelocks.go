package runtime

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
)

// A lock of a whole file (flock) belongs to an open file, which has no place: dup moves it
// to another descriptor, fork to another process, and one that is mapped stays without any. So
// such locks are counted only while no task of the run moves; as long as one does, each
// call that made one counts as held (MEM-41).

// resting lists the tasks of processes with how often each has given its processor up, if
// all of them sleep and there are no others: tasks is how many the group has then. Equal
// lists before and after something say that none has run in between. Without CONFIG_KALLSYMS
// no task is known to sleep.
func resting(pids []int, tasks func() (int64, error), limit lookTime) (map[int]int64, bool) {
	rest := map[int]int64{}
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
			before, ok := switches(task)
			if !ok || !sleeps(task) {
				return nil, false
			}
			if after, ok := switches(task); !ok || after != before {
				return nil, false
			}
			rest[task] = before
		}
	}
	n, err := tasks()
	return rest, err == nil && n == int64(len(rest))
}

// switches is how often a task has given its processor up, of itself or not.
func switches(task int) (n int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", task))
	if err != nil {
		return 0, false
	}
	found := 0
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.HasSuffix(name, []byte("voluntary_ctxt_switches")) { // and nonvoluntary
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

// sleeps reports whether a task waits in the kernel, off its processor and its queue:
// only then there is a place in which it does (fs/proc/base.c, proc_pid_wchan; get_wchan).
func sleeps(task int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", task))
	return err == nil && len(text) > 0 && string(text) != "0"
}

// mappedFiles counts the parts of processes' memory that belong to files: as many open
// files may be there without a descriptor. ok is false when the time is over.
func mappedFiles(pids []int, buf *bufio.Reader, limit lookTime) (n int, ok bool) {
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
				err = errLocksUnknown
			}
		}
		_ = f.Close()
		if err != io.EOF {
			return 0, false
		}
	}
	return n, true
}
