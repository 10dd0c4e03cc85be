package calls

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/seccomp"
)

// A ListingQuota bounds the open directories that a run with a writable root has read: each keeps a list of
// names, which is charged to no group (MEM-46). The zero value allows none.
type ListingQuota struct {
	maximum      int
	calls        int           // that are allowed before the next scan
	blockedUntil time.Duration // until then no call is allowed, and nothing is scanned
	pause        time.Duration // after the last scan, if it could not count; zero: it could
}

// minListings is the room below which no call is allowed until the next scan.
const minListings = 4

// due reports whether the next call needs a scan.
func (q *ListingQuota) due() bool { return q.calls == 0 && linux.Monotonic() >= q.blockedUntil }

// answer decides on a call that reads a directory; zero: it may be carried out. A call adds one list at
// most. After as many calls as could reach the bound, the open directories are counted. Scans get
// a tenth of the time at most: until is when the next call may be received.
func (q *ListingQuota) answer(scan func() (held int, err error)) (errno seccomp.Errno, until time.Duration, err error) {
	begun := linux.Monotonic()
	if begun < q.blockedUntil {
		return seccomp.ENOMEM, 0, nil
	}

	if q.calls == 0 {
		held, err := scan()
		unknown := errors.Is(err, errNotCounted)
		if err != nil && !unknown {
			return 0, 0, err
		}

		now := linux.Monotonic()
		until = now + 9*(now-begun)
		if room := q.maximum - held; unknown || room < minListings {
			q.pause = nextScanPause(q.pause, unknown)
			q.blockedUntil = max(until, now+q.pause)
			return seccomp.ENOMEM, 0, nil
		}

		q.pause, q.calls = 0, q.maximum-held
	}

	q.calls--
	return 0, until, nil
}

// HeldListings counts the directories that a group's processes have open.
func HeldListings(g lockGroup) (held int, err error) {
	goruntime.LockOSThread() // whose processor time is bounded
	defer goruntime.UnlockOSThread()

	limit := newScanBudget()
	ended := map[int]bool{}
	for range scanTries {
		pids, err := g.Pids()
		if err != nil {
			return 0, err
		}

		held = 0
		lost, err := eachTable(pids, ended, limit, func(task int) (bool, error) {
			n, err := tableDirectories(task, limit)
			held += n
			return false, err
		})
		if !lost || err != nil {
			return held, err
		}
	}

	return held, errNotCounted
}

// tableDirectories counts the directories in the table of a task. A task that has ended has none.
func tableDirectories(task int, limit scanBudget) (held int, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", task)
	open, err := os.Open(dir)
	if err != nil {
		return 0, ignoreGone(err)
	}
	defer open.Close()

	for {
		names, err := open.Readdirnames(256)
		for _, name := range names {
			if info, err := os.Stat(dir + "/" + name); err == nil && info.IsDir() {
				held++
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
