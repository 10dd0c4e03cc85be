package sysmon

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
)

var waits = regexp.MustCompile(`(?m)^voluntary_ctxt_switches:\s+(\d+)$`)

// switches returns how often a thread has gone to sleep.
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

// The second thread sleeps and wakes in a way that only the monitor does. It gets the
// slack, and no other thread does.
func TestSecondThreadIsTheMonitor(t *testing.T) {
	testenv.NeedRoot(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	all, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set(all[1], defaultSlack); err != nil {
			t.Error(err)
		}
	}()

	slept := map[int]int{}
	for _, thread := range all {
		slept[thread] = -switches(t, thread)
	}

	// Each blocking system call gives work to the monitor, and to no other thread.
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		err := unix.Nanosleep(&unix.Timespec{Nsec: 100_000}, nil)
		if err != nil && err != unix.EINTR { // the runtime sends a signal to stop a goroutine
			t.Fatal(err)
		}
	}

	for _, thread := range all {
		slept[thread] += switches(t, thread)
	}

	for _, thread := range all {
		if thread != all[1] && thread != unix.Gettid() && slept[thread] > slept[all[1]]/4 {
			t.Errorf("in half a second thread %d slept %d times and the second %d times: that is not the monitor", thread,
				slept[thread], slept[all[1]])
		}
	}

	if err := SlowMonitor(); err != nil {
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

// Threads other than the monitor that have its slack lose it.
func TestInheritedSlackIsReset(t *testing.T) {
	testenv.NeedRoot(t)
	var wg sync.WaitGroup
	release := make(chan struct{})
	for range 3 { // additional threads
		wg.Go(func() { runtime.LockOSThread(); <-release; runtime.UnlockOSThread() })
	}
	defer wg.Wait()
	defer close(release)

	all, err := threads()
	if err != nil {
		t.Fatal(err)
	}

	other := all[len(all)-1]
	if err := set(other, monitorSlack); err != nil {
		t.Fatal(err)
	}
	if err := restoreOnce(); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(file(other)); err != nil || string(now) != "50000\n" {
		t.Errorf("%q, %v", now, err)
	}
}

// The kernel's process numbers wrap around many times in the life of an agent: later threads
// may have numbers below the monitor's, and below the agent's own.
func TestThreadsAfterPidWrapAround(t *testing.T) {
	testenv.NeedRoot(t)
	const inside = "BRIG_TEST_NUMBERS"
	if os.Getenv(inside) == "" { // run in a separate pid namespace, where we can set the next number
		cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
			`echo 100 >/proc/sys/kernel/ns_last_pid; "$0" -test.run="^$1\$" -test.v; exit $?`, os.Args[0], t.Name())
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}

	before, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte("50"), 0); err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	release := make(chan struct{})
	for range 8 { // more than the threads that wait for work
		ready := make(chan struct{})
		wg.Go(func() { runtime.LockOSThread(); close(ready); <-release; runtime.UnlockOSThread() })
		<-ready
	}
	defer wg.Wait()
	defer close(release)

	after, err := threads()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Min(after) >= os.Getpid() {
		t.Fatalf("threads %v of process %d: none has a number from before", after, os.Getpid())
	}
	if after[1] != before[1] {
		t.Errorf("the second thread was %d, and is %d", before[1], after[1])
	}
}
