package calls

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/procfs"
)

// eachTable calls read for a task of each table of descriptors of these processes, until read reports
// that it has seen enough. The threads of one process may have different tables, and several processes
// may share one.
//
// ended holds the tasks that an earlier count of the same scan has found exiting; eachTable adds
// those that it finds. They are read last, and nothing is lost with them: they had begun to exit
// before the tasks were listed, so any task that shares a table with them is in the list. A first
// thread that has ended stays in /proc as long as its process has other threads. lost: a table was
// not seen, because the thread by which it was to be read ended.
func eachTable(pids []int, ended map[int]bool, limit scanBudget,
	read func(task int) (enough bool, err error)) (lost bool, err error) {
	var tables []int    // tasks, one of each table, in the kernel's order of tables
	of := map[int]int{} // the processes of the tasks
	add := func(task, pid int) {
		at, found := slices.BinarySearchFunc(tables, task, compareTables)
		if !found {
			tables, of[task] = slices.Insert(tables, at, task), pid
		}
	}

	before := map[int]int{} // tasks in ended, and their processes
	for _, pid := range pids {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			continue // it has ended
		}
		if limit.over() {
			return false, errNotCounted
		}

		for _, t := range tasks {
			task, err := strconv.Atoi(t.Name())
			if err != nil {
				return false, err
			}
			if ended[task] {
				before[task] = pid
			} else {
				add(task, pid)
			}
		}
	}

	for task, pid := range before {
		add(task, pid)
	}

	for _, task := range tables {
		if enough, err := read(task); err != nil || enough {
			return false, err
		}
		if exiting(task) {
			_, known := before[task]
			lost = lost || !known && lives(of[task])
			ended[task] = true
		}
	}

	return lost, nil
}

// lives reports whether a process has a thread that is not exiting.
func lives(pid int) bool {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return slices.ContainsFunc(tasks, func(t os.DirEntry) bool {
		task, err := strconv.Atoi(t.Name())
		return err != nil || !exiting(task)
	})
}

// exiting reports whether a task has ended or has begun to. It then gives up its table of
// descriptors, which other tasks may still share, and shows it as empty.
func exiting(task int) bool {
	const pfExiting = 0x4
	s, err := procfs.ReadStat(strconv.Itoa(task))
	return err != nil || s.Flags&pfExiting != 0
}

// compareTables orders tasks by their tables of descriptors, with kcmp(2) KCMP_FILES. If the kernel
// lacks it (CONFIG_KCMP), each task is treated as having its own table: the same lock is then
// counted for each thread, and the bound is reached sooner. Tasks that have ended may be in any
// order: they hold nothing.
func compareTables(a, b int) int {
	const kcmpFiles = 2 // enum kcmp_type of linux/kcmp.h
	order, _, errno := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpFiles, 0, 0, 0)
	if errno != 0 {
		return a - b
	}
	return [...]int{0, -1, 1, a - b}[min(order, 3)]
}
