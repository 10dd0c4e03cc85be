package calls

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
)

// A program gets as many listings as are free, counted anew whenever they could be used up, and none
// while they cannot be counted.
func TestListingQuota(t *testing.T) {
	held, scans := 0, 0
	var broken error
	scan := func() (int, error) { scans++; return held, broken }
	q := NewQuotas(8, NetworkQuota{}).Listings
	ask := func() seccomp.Errno {
		t.Helper()
		q.blockedUntil = 0 // as if the pause were over
		errno, _, err := q.answer(scan)
		if err != nil {
			t.Fatal(err)
		}
		return errno
	}

	for range 8 {
		if errno := ask(); errno != 0 || scans != 0 {
			t.Fatalf("errno %d after %d scans: the first calls need none", errno, scans)
		}
	}

	held = 2
	for range 6 {
		if errno := ask(); errno != 0 || scans != 1 {
			t.Fatalf("errno %d after %d scans; want 6 calls after one", errno, scans)
		}
	}

	held = 5 // less than minListings are free
	if errno := ask(); errno != seccomp.ENOMEM {
		t.Errorf("errno %d with %d of 8 held", errno, held)
	}

	held, broken = 0, errNotCounted
	if errno := ask(); errno != seccomp.ENOMEM || q.pause == 0 {
		t.Errorf("errno %d, pause %s, when they cannot be counted", errno, q.pause)
	}

	broken = errors.New("x")
	if _, _, err := func() (seccomp.Errno, any, error) { q.blockedUntil = 0; e, u, err := q.answer(scan); return e, u, err }(); !errors.Is(err,
		broken) {
		t.Errorf("another error: %v", err)
	}
}

// The directories that a process has open are counted, once for a table that threads share, and files
// are not.
func TestHeldListings(t *testing.T) {
	count := func() int {
		t.Helper()
		n, err := HeldListings(oneProcess{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}

	before := count()
	for _, name := range []string{t.TempDir(), "/proc/self/status", t.TempDir()} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}

	want := []int{2, 2}
	if _, _, errno := unix.RawSyscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(os.Getpid()), 2, 0, 0, 0); errno != 0 {
		want[1] = 2 * 100 // without kcmp(2) each thread counts for itself
	}
	if n := count() - before; n < want[0] || n > want[1] {
		t.Errorf("%d directories more; want %d to %d", n, want[0], want[1])
	}
}

// oneProcess is a group of this process.
type oneProcess struct{}

func (oneProcess) Pids() ([]int, error)      { return []int{os.Getpid()}, nil }
func (oneProcess) Processes() (int64, error) { return 1, nil }
