package calls

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/seccomp"
)

// Whatever the calls do, no more locks are held than the bound allows, if each call adds two at
// most. A run that releases its locks can continue.
func TestLockQuotaBoundsHeldLocks(t *testing.T) {
	var r LockQuota
	held, looks := 0, 0
	look := func(int, int) (LockCount, error) {
		looks++
		time.Sleep(100 * time.Microsecond)
		return LockCount{records: held}, nil
	}

	refused := 0
	for range 20_000 {
		may, _, err := r.take(false, look, own)
		if err != nil {
			t.Fatal(err)
		}
		if may {
			held += 2
		} else {
			refused++
		}
		if held > maxLocks {
			t.Fatalf("%d locks are held; the bound is %d", held, maxLocks)
		}
	}

	if held < maxLocks-2*minLockCalls || refused == 0 {
		t.Errorf("%d locks, %d calls refused; want about %d", held, refused, maxLocks)
	}
	if looks > 500 {
		t.Errorf("%d looks for %d refused calls", looks, refused)
	}

	held = 0
	time.Sleep(r.blockedUntil - linux.Monotonic())
	if may, _, err := r.take(false, look, own); err != nil || !may {
		t.Errorf("after all were released: %v, %v", may, err)
	}
}

func own() bool { return false }

// A scan takes a tenth of the time at most.
func TestLockScansAreRare(t *testing.T) {
	var r LockQuota
	const slow = 20 * time.Millisecond
	begun := linux.Monotonic()
	may, until, err := r.take(false, func(int, int) (LockCount, error) { time.Sleep(slow); return LockCount{}, nil }, own)
	if err != nil || !may || until < begun+10*slow {
		t.Errorf("%v, next after %v, %v; want it after %v", may, until-begun, err, 10*slow)
	}
}

// Python holds locks as programs do: on many ranges, in two processes, with a table of descriptors
// that threads share.
func TestHeldLocksCount(t *testing.T) {
	testenv.NeedRoot(t)
	dir := t.TempDir()
	script := `
import fcntl, os, sys, threading, time
f = open(sys.argv[1], "w+")
for i in range(700): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2*i)
g = open(sys.argv[1] + "2", "w+")
fcntl.flock(g, fcntl.LOCK_EX)
threads = [threading.Thread(target=time.sleep, args=(60,), daemon=True) for _ in range(8)]
[t.start() for t in threads]
print("ready", flush=True)
sys.stdin.read()
`

	var pids []int
	for i := range 2 {
		cmd := exec.CommandContext(t.Context(), "python3", "-c", script, filepath.Join(dir, fmt.Sprint(i)))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}

		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = in.Close(); _ = cmd.Wait() }()

		if _, err := out.Read(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}

		pids = append(pids, cmd.Process.Pid)
	}

	tasks := int64(18)
	all := func() (int64, error) { return tasks, nil }
	later := scanBudget{processor: math.MaxInt64, wall: linux.Monotonic() + time.Hour}
	for deadline := time.Now().Add(time.Minute); ; { // until all of them wait
		time.Sleep(300 * time.Millisecond)
		if _, ok := sleepingTasks(pids, all, later); ok || time.Now().After(deadline) {
			break
		}
	}

	held, err := HeldLocks(group{pids, &tasks}, nil, 5000, 0, true)
	for tries := 1; errors.Is(err, errNotCounted) && tries < 5; tries++ { // on a busy machine its time is soon over
		held, err = HeldLocks(group{pids, &tasks}, nil, 5000, 0, true)
	}
	got, whole := held.records, held.whole
	if _, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pids[0]), uintptr(pids[0]), 2, 0, 0, 0); errno == unix.ENOSYS {
		// Each of 9 threads counts as having its own table (compareTables).
		if got < maxLocks && !errors.Is(err, errNotCounted) {
			t.Errorf("%d locks, %v; want too many", got, err)
		}
		return
	} else if err != nil || got != 1400 {
		t.Errorf("%d locks, %v; two processes hold 700 each", got, err)
	} else if whole < 2 || whole > 500 { // including mappings of files
		t.Errorf("%d whole-file locks; two processes that sleep hold one each", whole)
	}

	tasks++ // a task in no list: it may have any number
	if held, err := HeldLocks(group{pids, &tasks}, nil, 5000, 0, true); err != nil || held.whole != 5000 || held.wholeCounted {
		t.Errorf("%+v, %v; want 5000 whole-file locks: a task is not seen", held, err)
	}

	tasks--
	if held, err := HeldLocks(group{pids, &tasks}, nil, 5000, 0, false); err != nil || held.whole != 5000 || held.wholeCounted {
		t.Errorf("%+v, %v; want 5000 whole-file locks: they may be in messages", held, err)
	}
	if held, err := HeldLocks(group{[]int{1 << 22}, new(int64)}, nil, 7, 0, true); err != nil || held != (LockCount{whole: 7}) {
		t.Errorf("of a process that is none: %+v, %v", held, err)
	}
}

// A group is processes that a test has started, with the number of their tasks.
type group struct {
	pids  []int
	tasks *int64
}

func (g group) Pids() ([]int, error)      { return g.pids, nil }
func (g group) Processes() (int64, error) { return *g.tasks, nil }

// MEM-41. Whole-file locks count as released only when a scan can prove it.
func TestLockQuotaBoundsWholeFileLocks(t *testing.T) {
	var r LockQuota
	for _, seen := range []bool{false, true} {
		granted := 0
		for range 30_000 {
			errno, _, err := r.answer("flock", [6]uint64{1: 2}, func(whole, _ int) (LockCount, error) {
				if seen {
					whole = 1 // the other locks were released
				}
				return LockCount{whole: whole, wholeCounted: seen}, nil
			}, own)
			if err != nil {
				t.Fatal(err)
			}
			if errno == 0 {
				granted++
			}
			if r.blockedUntil > 0 {
				r.blockedUntil = 1 // the time is over
			}
		}

		switch {
		case !seen && (granted > maxLocks || granted < maxLocks-4*minLockCalls):
			t.Errorf("%d calls are allowed that the scan cannot count; the bound is %d", granted, maxLocks)
		case seen && granted != 30_000:
			t.Errorf("%d of 30000 calls are let go, and one lock is held at a time", granted)
		}
	}

	errno, _, err := r.answer("fcntl", [6]uint64{1: 37}, nil, own)
	if err != nil || errno != seccomp.EINVAL {
		t.Errorf("F_OFD_SETLK: %v, %v; want EINVAL", errno, err)
	}
}

// A task that runs, or has run in between, is not asleep.
func TestSleepingTasksDetectsRunningTasks(t *testing.T) {
	testenv.NeedRoot(t)
	later := scanBudget{processor: math.MaxInt64, wall: linux.Monotonic() + time.Hour}
	for _, tt := range []struct {
		script string
		rests  bool
	}{
		{"sleep 60", true},
		{"while :; do :; done", false},
		{"while :; do sleep 0.01; done", false},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec 2>&-; "+tt.script+"; :")
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		pids := []int{cmd.Process.Pid}
		one := func() (int64, error) { return 1, nil }
		for deadline := time.Now().Add(time.Minute); ; { // on a busy machine it begins late, or rests for a while
			time.Sleep(200 * time.Millisecond)
			before, ok := sleepingTasks(pids, one, later)
			time.Sleep(200 * time.Millisecond)
			after, still := sleepingTasks(pids, one, later)
			rests := ok && still && maps.Equal(before, after)
			if rests == tt.rests {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s: rests: %v; want %v (%v, %v)", tt.script, rests, tt.rests, before, after)
				break
			}
		}

		if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}

		_ = cmd.Wait()
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	var r Refusals
	for i := range 1000 {
		r.Add(api.Refusal{Syscall: fmt.Sprint(i), Profile: "p", Errno: "EPERM", Count: 1})
		r.Add(api.Refusal{Syscall: "7", Profile: "p", Errno: "EPERM", Count: 1})
	}
	var all int64
	for _, one := range r {
		all += one.Count
	}
	if len(r) != maxRefusals || all != 2000 || r[len(r)-1].Syscall != "others" {
		t.Errorf("%d entries with %d calls, the last %+v", len(r), all, r[len(r)-1])
	}
}

// A program that makes calls without end has a full budget at first and then the rate.
func TestPace(t *testing.T) {
	var p callBudget
	now := time.Hour
	p.Start(now)
	answered := 0
	for end := now + time.Second; now < end; answered++ {
		if until := p.Spend(PriceRefused, now); until > 0 {
			now = until
		}
	}
	if want := budgetFull/PriceRefused + 1000*budgetRate/PriceRefused; answered < want*9/10 || answered > want*11/10 {
		t.Errorf("%d refused calls were answered in a second; want about %d", answered, want)
	}
}
