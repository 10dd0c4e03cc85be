package sysmon

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
)

var waits = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+(\d+)$`)

// switches is how often a thread has gone to sleep.
func switches(t *testing.T, thread int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", thread))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(waits.FindStringSubmatch(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// work has a goroutine in a system call that lasts, which gives the monitor something to
// do each time, and says how often the second thread slept meanwhile.
func work(t *testing.T) int {
	t.Helper()
	all, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	before := switches(t, all[1])
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		if err := unix.Nanosleep(&unix.Timespec{Nsec: 100_000}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return switches(t, all[1]) - before
}

// The second thread sleeps and wakes as nothing but the monitor does, and is given its
// slack, as no other is.
func TestSecondThreadIsTheMonitor(t *testing.T) {
	testenv.NeedRoot(t)
	all, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set(all[1], usual); err != nil {
			t.Error(err)
		}
	}()
	if slept := work(t); slept < 1000 {
		t.Errorf("in half a second of work the second thread slept %d times: it is not the monitor", slept)
	}
	if err := Calm(); err != nil {
		t.Fatal(err)
	}
	for i, thread := range all {
		want := "50000\n"
		if i == 1 {
			want = "10000000\n"
		}
		if now, err := os.ReadFile(file(thread)); err == nil && string(now) != want {
			t.Errorf("thread %d of %d has a slack of %q; want %q", i+1, len(all), now, want)
		}
	}
}

// Threads that have the monitor's slack and are not it lose it.
func TestInheritedSlackIsTakenBack(t *testing.T) {
	testenv.NeedRoot(t)
	var wg sync.WaitGroup
	release := make(chan struct{})
	for range 3 { // so many threads there are besides
		wg.Go(func() { runtime.LockOSThread(); <-release; runtime.UnlockOSThread() })
	}
	defer wg.Wait()
	defer close(release)
	all, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	other := all[len(all)-1]
	if err := set(other, slack); err != nil {
		t.Fatal(err)
	}
	if err := rouse(); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(file(other)); err != nil || string(now) != "50000\n" {
		t.Errorf("%q, %v", now, err)
	}
}
