package pool

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// CPU-40. No epoll set of ours contains another: adding a descriptor to a contained set takes a
// lock of the whole kernel (fs/eventpoll.c, epnested_mutex).
func TestEpollSetsAreNotNested(t *testing.T) {
	s, err := NewSlot(0, []int{0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	done := make(chan error)
	go func() {
		_, err := s.Poller.Wait() // as a supervisor does
		done <- err
	}()
	time.Sleep(10 * time.Millisecond)
	if nested := nestedSets(t); len(nested) > 0 {
		t.Errorf("%v", nested)
	}

	// The check finds one that is nested.
	outer, err := linux.NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()

	if err := outer.Add(s.Poller.File, unix.EPOLLIN, 1); err != nil {
		t.Fatal(err)
	}
	if nested := nestedSets(t); len(nested) != 1 {
		t.Errorf("one set lies in another and %v are seen", nested)
	}

	s.Wake.Wake()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// nestedSets lists the epoll sets of this process that contain another.
func nestedSets(t *testing.T) (nested []string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}

	sets := map[string]bool{}
	for _, e := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && to == "anon_inode:[eventpoll]" {
			sets[e.Name()] = true
		}
	}

	if len(sets) == 0 {
		t.Fatal("no epoll set at all: the test is blind")
	}

	for n := range sets {
		text, err := os.ReadFile("/proc/self/fdinfo/" + n)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "tfd:" && sets[f[1]] {
				nested = append(nested, n+" watches "+f[1])
			}
		}
	}

	return nested
}
