// Package calls decides on system calls that the kernel reports to the agent, and bounds what they
// cost: locks that a run holds, the agent's time, and the length of what a result tells of them.
package calls

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
	"time"

	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/seccomp"
)

// Locks of files are kernel memory that is charged to no group: 192 bytes each, 300,000 a second
// (MEM-40). So the profile has calls that make locks counted. A call adds two locks at most,
// whatever its argument contains when the kernel reads it (fs/locks.c, posix_lock_inode: a lock may
// be cut in two). After as many calls as could reach the bound, the locks that are held are
// counted. Whole-file locks (MEM-41) can be counted only at certain times: see whole_file_locks.go.
const (
	maxLocks       = 10_000
	LockBatch      = 4096 // calls between two scans, at most
	minLockCalls   = 64   // with room for fewer calls than this none is allowed until the next scan
	shortLockBatch = 64   // calls between two scans while the number of held whole-file locks is unknown, or some locks are on shared files

	maxShared      = 64 // locks on files that other cells share, see shared_locks.go
	sharedSampling = 16 // the file of one in so many calls is checked

	maxScanPause = 16 * time.Second // between two scans that could not count

	scanTries = 3 // per scan, if threads end in the middle of it
)

// LockQuota is how many calls may be allowed before the next scan. The zero value scans at the first
// call.
type LockQuota struct {
	Calls        int
	whole        int           // whole-file locks that may be held: those counted last, plus one for each call since
	blockedUntil time.Duration // until then no call is allowed, and nothing is scanned; zero: there is room
	pause        time.Duration // after the last scan, if it could not count; zero: it could

	shared   sharedCount // locks on shared files that may be held: those counted last, plus those of each call since
	checkAll bool        // a call was on a shared file: the file of every call is checked
}

// lockScan counts the locks that are held: record locks and whole-file locks, on all files and on
// shared ones. The arguments bound the whole-file locks of both.
type lockScan func(whole, shared int) (LockCount, error)

// Due reports whether the next call needs a scan.
func (r *LockQuota) Due() bool { return r.Calls == 0 && linux.Monotonic() >= r.blockedUntil }

// A LockCount is a number of locks.
type LockCount struct {
	records, whole int
	wholeCounted   bool // the whole-file locks were counted; otherwise some may be gone
	shared         sharedCount
}

// A sharedCount is how many locks are on shared files.
type sharedCount struct{ records, whole int }

// answer decides on a call that can make a lock; zero: it may be carried out. onShared reports whether its
// descriptor is of a shared file.
func (r *LockQuota) answer(call string, args [6]uint64, scan lockScan,
	onShared func() bool) (errno seccomp.Errno, until time.Duration, err error) {
	switch kind := seccomp.LockOf(call, args); kind {
	case seccomp.NoLock:
		return 0, 0, nil
	case seccomp.OpenFileLock:
		return seccomp.EINVAL, 0, nil // like a kernel without such locks
	default:
		may, until, err := r.take(kind == seccomp.WholeLock, scan, onShared)
		if err != nil || !may {
			return seccomp.ENOLCK, until, err
		}
		return 0, until, nil
	}
}

// take decides on one call that can make a lock, of a whole file or of records. If the allowed
// calls are used up, it calls look. Scans get a tenth of the time at most, however long one takes:
// until is when the next call may be received. A run that holds the maximum is refused meanwhile.
func (r *LockQuota) take(whole bool, scan lockScan, onShared func() bool) (may bool, until time.Duration, err error) {
	if r.blockedUntil > 0 && linux.Monotonic() < r.blockedUntil {
		return false, 0, nil
	}

	if r.Calls == 0 {
		begun := linux.Monotonic()
		held, err := scan(r.whole, r.shared.whole)
		unknown := errors.Is(err, errNotCounted)
		if unknown { // a number that cannot be counted is treated as too many
			held, err = LockCount{records: maxLocks, whole: r.whole, shared: r.shared}, nil
		}
		if err != nil {
			return false, 0, err
		}

		now := linux.Monotonic()
		until, r.blockedUntil, r.whole, r.shared = now+9*(now-begun), 0, held.whole, held.shared
		room := (maxLocks - held.records - held.whole) / 2
		if room < minLockCalls || r.sharedFull() {
			r.blockedUntil, r.pause = until, nextScanPause(r.pause, unknown)
			r.blockedUntil = max(r.blockedUntil, now+r.pause)
			return false, 0, nil
		}

		r.pause = 0
		r.Calls = min(LockBatch, room)
		if r.checkAll || held.shared != (sharedCount{}) ||
			!held.wholeCounted && held.whole > 0 { // more chances to find all tasks of the run asleep
			r.Calls = min(r.Calls, shortLockBatch)
		}
	}

	r.Calls--
	if whole {
		r.whole++
	}

	if (r.checkAll || rand.IntN(sharedSampling) == 0) && onShared() {
		r.checkAll, r.Calls = true, min(r.Calls, shortLockBatch)
		if whole {
			r.shared.whole++
		} else {
			r.shared.records += 2
		}
		if r.sharedFull() {
			r.Calls = 0 // the next call starts a scan
		}
	}

	return true, until, nil
}

// sharedFull reports whether one more call could exceed the bound on shared files.
func (r *LockQuota) sharedFull() bool { return r.shared.records+r.shared.whole+2 > maxShared }

// nextScanPause is the pause after a scan. It doubles each time that a scan could not count, so that a
// program cannot make the agent scan for ever.
func nextScanPause(last time.Duration, unknown bool) time.Duration {
	if !unknown {
		return 0
	}
	return min(max(time.Second, 2*last), maxScanPause)
}

// errNotCounted reports that locks or lists could not be counted: not in the available time, or
// because threads ended whose descriptor tables others share.
var errNotCounted = errors.New("what the run holds cannot be counted")

// A lockGroup is a group whose locks are counted.
type lockGroup interface {
	Pids() ([]int, error)      // its processes
	Processes() (int64, error) // how many tasks it has
}

// HeldLocks counts the locks that a group's processes hold. It counts record locks up to maxLocks.
// It counts whole-file locks, of which there are at most whole, if that is possible; seen means
// that open files exist only in descriptors, mappings and calls. The processes are listed anew if a
// descriptor table was lost because the thread by which it was read ended. Otherwise a program
// could end that thread each time, and hold any number of locks through another one (MEM-40).
func HeldLocks(g lockGroup, own OwnFiles, whole, shared int, seen bool) (LockCount, error) {
	goruntime.LockOSThread() // whose processor time is bounded
	defer goruntime.UnlockOSThread()

	limit := newScanBudget()
	ended := map[int]bool{}
	for range scanTries {
		pids, err := g.Pids()
		if err != nil {
			return LockCount{}, err
		}

		var before map[int]int64
		sleeping := false
		if whole > 0 && seen {
			before, sleeping = sleepingTasks(pids, g.Processes, limit)
		}

		held, lost, err := countLocks(pids, own, ended, limit)
		if lost && err == nil && held.records < maxLocks {
			continue
		}

		shown, onShared := held.whole, held.shared.whole
		held.whole, held.shared.whole = whole, max(onShared, shared)
		if sleeping && err == nil && held.records < maxLocks {
			mapped, ok := mappedFiles(pids, bufio.NewReaderSize(nil, 64<<10), limit)
			after, stillSleeping := sleepingTasks(pids, g.Processes, limit)
			if ok && stillSleeping && maps.Equal(before, after) {
				unseen := mapped + len(after) // a waiting call has a file, too
				held.whole, held.wholeCounted = min(whole, shown+unseen), true
				held.shared.whole = max(onShared, min(shared, onShared+unseen))
			}
		}

		return held, err
	}

	return LockCount{}, errNotCounted
}

func (c *LockCount) add(more LockCount) {
	c.records += more.records
	c.whole += more.whole
	c.shared.records += more.shared.records
	c.shared.whole += more.shared.whole
}

// countLocks counts once. A record lock belongs to a table of descriptors, and its file is open in
// that table: closing it would end the lock (fs/locks.c, locks_remove_posix). So each table is read
// once. Further locks exist only in processes that wait for one, and their number bounds these.
func countLocks(pids []int, own OwnFiles, ended map[int]bool, limit scanBudget) (held LockCount, lost bool, err error) {
	buf := bufio.NewReaderSize(nil, 64<<10)
	lost, err = eachTable(pids, ended, limit, func(task int) (bool, error) {
		n, err := tableLocks(task, own, buf, limit)
		if err != nil {
			return false, err
		}
		held.add(n)
		return held.records >= maxLocks, nil
	})
	return held, lost, err
}

// tableLocks counts the locks in the table of a task. A task that has ended has none.
func tableLocks(task int, own OwnFiles, buf *bufio.Reader, limit scanBudget) (held LockCount, err error) {
	dir := fmt.Sprintf("/proc/%d/", task)
	open, err := os.Open(dir + "fdinfo")
	if err != nil {
		return held, ignoreGone(err)
	}
	defer open.Close()

	for {
		names, err := open.Readdirnames(256)
		for _, name := range names {
			if isEpoll(task, name) {
				continue
			}

			n, err := fileLocks(dir+"fdinfo/"+name, dir+"fd/"+name, own, buf)
			if err != nil {
				return held, err
			}
			if held.add(n); held.records >= maxLocks {
				return held, nil
			}
			if limit.over() {
				return held, errNotCounted
			}
		}

		if err != nil {
			return held, ignoreGone(err)
		}
	}
}

// isEpoll reports whether a descriptor is an epoll instance. An epoll instance has no locks, but
// its fdinfo lists its items: the kernel would write 100 MiB of them before we can read one.
func isEpoll(task int, name string) bool {
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", task, name))
	return err == nil && to == "anon_inode:[eventpoll]"
}

// fileLocks counts the lines of locks in a descriptor's fdinfo, which is at path
// (fs/locks.c, lock_get_status).
func fileLocks(path, descriptor string, own OwnFiles, buf *bufio.Reader) (held LockCount, err error) {
	f, err := os.Open(path)
	if err != nil {
		return held, ignoreGone(err)
	}
	defer f.Close()

	buf.Reset(f)

	for {
		line, err := buf.ReadSlice('\n')
		if bytes.HasPrefix(line, []byte("lock:")) {
			held.add(lockOf(line, descriptor, own))
		}
		if err != nil {
			return held, ignoreGone(err)
		}
	}
}

// lockOf returns the lock that one such line describes.
func lockOf(line []byte, descriptor string, own OwnFiles) (one LockCount) {
	shared := 0
	if !own.line(line, descriptor) {
		shared = 1
	}
	if bytes.Contains(line, []byte(" FLOCK ")) {
		return LockCount{whole: 1, shared: sharedCount{whole: shared}}
	}
	return LockCount{records: 1, shared: sharedCount{records: shared}}
}

// ignoreGone returns nil for errors that mean that a process ended during the scan, or that a file was read to its end.
func ignoreGone(err error) error {
	if errors.Is(err, io.EOF) || procfs.IsEnded(err) {
		return nil
	}
	return err
}
