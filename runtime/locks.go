package runtime

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
)

// Locks of files are memory of the kernel's that no group is charged for: 192 bytes each,
// 300,000 a second (MEM-40). The profile has their calls counted, and a
// call adds at most two of them, whatever its argument says by the time that the kernel
// reads it (fs/locks.c, posix_lock_inode: one that is cut in two). So after so many calls
// as could reach the bound, those that are held are counted. Whole-file locks (MEM-41) can
// be counted at times only: see filelocks.go.
const (
	maxLocks  = 10_000
	lockBatch = 4096 // calls between two looks, at most
	lockFull  = 64   // with room for fewer calls than this none is let go until the next look
	lockStep  = 64   // calls between two looks while nobody can tell how many whole-file locks are held, or some are on shared files

	maxShared   = 64 // locks on files that other cells have, see sharedlocks.go
	sharedTries = 16 // one in so many calls is asked for its file

	maxPause = 16 * time.Second // between two looks that could not count

	lookTries = 3 // of one look, where threads end in the middle of it
)

// A lockRoom is how many calls may still be let go before the next look. The zero value
// looks at the first.
type lockRoom struct {
	calls int
	whole int           // whole-file locks that may be held: those counted last, and each call since
	full  time.Duration // until when none is let go, and nobody looks; zero: there is room
	pause time.Duration // after the last look, which could not count; zero: it could

	shared sharedCount // locks on shared files that may be held: those counted last, and each call since
	wary   bool        // one was asked for: every call is asked for its file
}

// A lockLook counts the locks that are held: those of records and, of at most so many as
// are given, those of whole files, on all files and on shared ones.
type lockLook func(whole, shared int) (lockCount, error)

// due reports whether the next call needs a look.
func (r *lockRoom) due() bool { return r.calls == 0 && monotonic() >= r.full }

// A lockCount is how many locks there are.
type lockCount struct {
	records, whole int
	told           bool // those of whole files were counted; otherwise any may be gone
	shared         sharedCount
}

// A sharedCount is how many of them are on shared files.
type sharedCount struct{ records, whole int }

// answer decides on a call that is counted; zero: it may be carried out. onShared reports
// whether its descriptor is of a shared file.
func (r *lockRoom) answer(call string, args [6]uint64, look lockLook, onShared func() bool) (errno seccomp.Errno, until time.Duration, err error) {
	switch kind := seccomp.LockOf(call, args); kind {
	case seccomp.NoLock:
		return 0, 0, nil
	case seccomp.OpenFileLock:
		return seccomp.EINVAL, 0, nil // as a kernel answers that has none
	default:
		may, until, err := r.take(kind == seccomp.WholeLock, look, onShared)
		if err != nil || !may {
			return seccomp.ENOLCK, until, err
		}
		return 0, until, nil
	}
}

// take decides on one call that can make a lock, of a whole file or of records. look is
// asked when the room is used up, and takes a tenth of the time at most, however long it
// takes: until is when the next call may be taken, and a run that holds as many as it may
// is refused all the while.
func (r *lockRoom) take(whole bool, look lockLook, onShared func() bool) (may bool, until time.Duration, err error) {
	if r.full > 0 && monotonic() < r.full {
		return false, 0, nil
	}
	if r.calls == 0 {
		begun := monotonic()
		held, err := look(r.whole, r.shared.whole)
		unknown := errors.Is(err, errLocksUnknown)
		if unknown { // what cannot be counted counts as too many
			held, err = lockCount{records: maxLocks, whole: r.whole, shared: r.shared}, nil
		}
		if err != nil {
			return false, 0, err
		}
		now := monotonic()
		until, r.full, r.whole, r.shared = now+9*(now-begun), 0, held.whole, held.shared
		room := (maxLocks - held.records - held.whole) / 2
		if room < lockFull || r.sharedFull() {
			r.full, r.pause = until, nextPause(r.pause, unknown)
			r.full = max(r.full, now+r.pause)
			return false, 0, nil
		}
		r.pause = 0
		r.calls = min(lockBatch, room)
		if r.wary || held.shared != (sharedCount{}) || !held.told && held.whole > 0 { // more chances to find the run at rest
			r.calls = min(r.calls, lockStep)
		}
	}
	r.calls--
	if whole {
		r.whole++
	}
	if (r.wary || rand.IntN(sharedTries) == 0) && onShared() {
		r.wary, r.calls = true, min(r.calls, lockStep)
		if whole {
			r.shared.whole++
		} else {
			r.shared.records += 2
		}
		if r.sharedFull() {
			r.calls = 0 // the next call looks
		}
	}
	return true, until, nil
}

// sharedFull reports whether one more call could exceed the bound of shared files.
func (r *lockRoom) sharedFull() bool { return r.shared.records+r.shared.whole+2 > maxShared }

// nextPause is how long nobody looks after a look: twice as long each time that it could not
// count, so that a program cannot have the agent count for ever.
func nextPause(last time.Duration, unknown bool) time.Duration {
	if !unknown {
		return 0
	}
	return min(max(time.Second, 2*last), maxPause)
}

// errLocksUnknown says that the locks could not be counted: in the time for it, or because
// threads ended whose tables others share.
var errLocksUnknown = errors.New("locks of files cannot be counted")

// A lockGroup is a group whose locks are counted.
type lockGroup interface {
	Pids() ([]int, error)      // its processes
	Processes() (int64, error) // how many tasks it has
}

// heldLocks counts the record locks that a group's processes hold, and stops at maxLocks;
// of whole-file locks, of which there are at most whole, those that are held if that can be
// told: seen says that no open file is elsewhere than in descriptors, mappings and calls. The
// processes are listed anew when a table was lost with the thread by which it was
// read: otherwise a program could have that one end each time, and hold what it likes by
// another (MEM-40).
func heldLocks(g lockGroup, own ownFiles, whole, shared int, seen bool) (lockCount, error) {
	goruntime.LockOSThread() // whose processor time is bounded
	defer goruntime.UnlockOSThread()
	limit := newLookTime()
	ended := map[int]bool{}
	for range lookTries {
		pids, err := g.Pids()
		if err != nil {
			return lockCount{}, err
		}
		var before map[int]int64
		rests := false
		if whole > 0 && seen {
			before, rests = resting(pids, g.Processes, limit)
		}
		held, lost, err := countLocks(pids, own, ended, limit)
		if lost && err == nil && held.records < maxLocks {
			continue
		}
		shown, onShared := held.whole, held.shared.whole
		held.whole, held.shared.whole = whole, max(onShared, shared)
		if rests && err == nil && held.records < maxLocks {
			mapped, ok := mappedFiles(pids, bufio.NewReaderSize(nil, 64<<10), limit)
			after, rested := resting(pids, g.Processes, limit)
			if ok && rested && maps.Equal(before, after) {
				unseen := mapped + len(after) // a call that waits has a file, too
				held.whole, held.told = min(whole, shown+unseen), true
				held.shared.whole = max(onShared, min(shared, onShared+unseen))
			}
		}
		return held, err
	}
	return lockCount{}, errLocksUnknown
}

func (c *lockCount) add(more lockCount) {
	c.records += more.records
	c.whole += more.whole
	c.shared.records += more.shared.records
	c.shared.whole += more.shared.whole
}

// countLocks counts once. A record lock belongs to a table of
// descriptors, and its file is open in that table: closing it would end the lock
// (fs/locks.c, locks_remove_posix). So each table is read once, whoever shares it; threads
// of a process may have different ones. What a process that waits for a lock has besides
// is bounded by their number.
//
// ended are tasks that an earlier count of the same look has found exiting, and countLocks
// adds those that it finds. They are read last, and nothing is lost with them: they had
// begun to exit before the tasks were listed, so what shares a table with them is in the
// list. A first thread that has ended stays in /proc as long as its process has others.
func countLocks(pids []int, own ownFiles, ended map[int]bool, limit lookTime) (held lockCount, lost bool, err error) {
	var tables []int    // tasks, one of each table, in the kernel's order of tables
	of := map[int]int{} // their processes
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
			return held, false, errLocksUnknown
		}
		for _, t := range tasks {
			task, err := strconv.Atoi(t.Name())
			if err != nil {
				return held, false, err
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
	buf := bufio.NewReaderSize(nil, 64<<10)
	for _, task := range tables {
		n, err := tableLocks(task, own, buf, limit)
		if err != nil {
			return held, false, err
		}
		if held.add(n); held.records >= maxLocks {
			return held, false, nil
		}
		if exiting(task) {
			_, known := before[task]
			lost = lost || !known && lives(of[task])
			ended[task] = true
		}
	}
	return held, lost, nil
}

// lives reports whether a process has a thread that does not end.
func lives(pid int) bool {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return slices.ContainsFunc(tasks, func(t os.DirEntry) bool {
		task, err := strconv.Atoi(t.Name())
		return err != nil || !exiting(task)
	})
}

// exiting reports whether a task has ended, or has begun to: it gives its table of
// descriptors back then, which others may have still, and shows it empty.
func exiting(task int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", task))
	if err != nil {
		return true
	}
	const flagsField = 6 // behind the name: state ppid pgrp session tty tpgid flags
	const pfExiting = 0x4
	f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(f) <= flagsField {
		return true
	}
	flags, err := strconv.ParseUint(string(f[flagsField]), 10, 64)
	return err != nil || flags&pfExiting != 0
}

// compareTables orders tasks by their tables of descriptors, with kcmp(2) KCMP_FILES.
// Where the kernel lacks it (CONFIG_KCMP), each task counts as having its own: the same
// lock is then counted for each thread, and the bound is met sooner. Tasks that have
// ended are ordered anyhow: they hold nothing.
func compareTables(a, b int) int {
	const kcmpFiles = 2 // enum kcmp_type of linux/kcmp.h
	order, _, errno := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpFiles, 0, 0, 0)
	if errno != 0 {
		return a - b
	}
	return [...]int{0, -1, 1, a - b}[min(order, 3)]
}

// tableLocks counts the locks in the table of a task. One that has ended has none.
func tableLocks(task int, own ownFiles, buf *bufio.Reader, limit lookTime) (held lockCount, err error) {
	dir := fmt.Sprintf("/proc/%d/fdinfo", task)
	open, err := os.Open(dir)
	if err != nil {
		return held, gone(err)
	}
	defer open.Close()
	for {
		names, err := open.Readdirnames(256)
		for _, name := range names {
			if isEpoll(task, name) {
				continue
			}
			n, err := fileLocks(dir+"/"+name, own, buf)
			if err != nil {
				return held, err
			}
			if held.add(n); held.records >= maxLocks {
				return held, nil
			}
			if limit.over() {
				return held, errLocksUnknown
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return held, gone(err)
		}
	}
}

// isEpoll reports whether a descriptor is an epoll instance, which has no locks, and whose
// fdinfo lists its items: the kernel writes 100 MiB of them for us before we can read one.
func isEpoll(task int, name string) bool {
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", task, name))
	return err == nil && to == "anon_inode:[eventpoll]"
}

// fileLocks counts the lines of locks in a descriptor's /proc/PID/fdinfo
// (fs/locks.c, lock_get_status).
func fileLocks(path string, own ownFiles, buf *bufio.Reader) (held lockCount, err error) {
	f, err := os.Open(path)
	if err != nil {
		return held, gone(err)
	}
	defer f.Close()
	buf.Reset(f)
	for {
		line, err := buf.ReadSlice('\n')
		if bytes.HasPrefix(line, []byte("lock:")) {
			held.add(lockOf(line, own))
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return held, gone(err)
		}
	}
}

// lockOf is the lock of one such line.
func lockOf(line []byte, own ownFiles) (one lockCount) {
	shared := 0
	if !own.line(line) {
		shared = 1
	}
	if bytes.Contains(line, []byte(" FLOCK ")) {
		return lockCount{whole: 1, shared: sharedCount{whole: shared}}
	}
	return lockCount{records: 1, shared: sharedCount{records: shared}}
}

// gone forgives what a process says that ends while it is looked at.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
