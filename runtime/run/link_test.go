package run

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// A program that the agent stopped ended when it was killed, also if its shell reports later, or not at all:
// otherwise what a manager says meanwhile would count before the limit that the program met.
func TestEndsOfStoppedPrograms(t *testing.T) {
	const exited = 3 << 8
	for _, tt := range []struct {
		name string
		w    supervisor
		want programEnd
	}{
		{"it ended by itself", supervisor{replied: true, reply: cell.Reply{ExitNs: 7, Status: exited}}, programEnd{at: 7, exitCode: 3}},
		{"its shell did not report", supervisor{stopped: true, killed: 5}, programEnd{at: 5, stopped: true, exitCode: -1}},
		{"its shell reported late", supervisor{stopped: true, killed: 5, replied: true, reply: cell.Reply{ExitNs: 7, Status: 9}},
			programEnd{at: 5, stopped: true, exitCode: -1}},
		{"it ended before it was killed", supervisor{stopped: true, killed: 9, replied: true, reply: cell.Reply{ExitNs: 7, Status: exited}},
			programEnd{at: 7, exitCode: 3}},
		{"it was killed by another signal before", supervisor{stopped: true, killed: 9, replied: true, reply: cell.Reply{ExitNs: 7, Status: 11}},
			programEnd{at: 7, exitCode: -1}},
	} {
		l := &link{channels: make([]*channel, 1), ended: make([]*programEnd, 2), wake: make([]func(), 2)}
		woken := false
		l.wake[1] = func() { woken = true }
		tt.w.link = l.end(0)
		tt.w.reportEnd()
		if got := l.ended[0]; got == nil || *got != tt.want || !woken {
			t.Errorf("%s: %+v, the other one woken %v; want %+v", tt.name, got, woken, tt.want)
		}
	}

	l := &link{channels: make([]*channel, 1), ended: make([]*programEnd, 2), wake: make([]func(), 2)}
	before := linux.Monotonic()
	(&supervisor{link: l.end(0)}).reportEnd()
	if at := l.ended[0].at; at < before || at > linux.Monotonic() {
		t.Errorf("a program that the kernel killed with its shell ended at %s; want at most now", at)
	}
	if late := (&programEnd{}).known(); late < time.Hour {
		t.Errorf("a program that did not start ended at %s", late)
	}
}

// A program that writes bytes one by one to a manager that has ended does not wake the agent for each of them.
func TestDiscardsAreThrottled(t *testing.T) {
	slot, err := pool.NewSlot(0, []int{0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer slot.Close()

	var ends [2][2]*os.File
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		if err := unix.SetNonblock(linux.FD(r), true); err != nil {
			t.Fatal(err)
		}
		ends[i] = [2]*os.File{r, w}
	}

	const smallRead, smallReads = 4 << 10, 8 // as outputs.SmallReads has it
	l := &link{channels: make([]*channel, 1), ended: make([]*programEnd, 2), wake: make([]func(), 2)}
	w := &supervisor{Place: Place{Slot: slot}, link: l.end(0), out: &outputs.Streams{{Ended: true}, {Ended: true}}}
	next := func(write int) (tag int32) {
		t.Helper()
		if _, err := ends[0][1].Write(make([]byte, write)); err != nil {
			t.Fatal(err)
		}
		events, err := slot.Poller.Wait()
		if err != nil || len(events) != 1 {
			t.Fatalf("%v, %v", events, err)
		}
		if err := w.handle(t.Context(), events[0]); err != nil {
			t.Fatal(err)
		}
		return events[0].Fd
	}

	if err := w.discard(ends[0][0]); err != nil {
		t.Fatal(err)
	}

	for i := range smallReads { // a large one begins the count anew
		if tag := next(map[bool]int{true: smallRead, false: 1}[i == smallReads-1]); tag != tagDiscard || w.link.throttled {
			t.Fatalf("read %d: tag %d, throttled %v", i, tag, w.link.throttled)
		}
	}

	for range smallReads {
		if tag := next(1); tag != tagDiscard {
			t.Fatalf("tag %d", tag)
		}
	}

	if err := w.discard(ends[1][0]); err != nil { // another one that ends meanwhile
		t.Fatal(err)
	}
	if tag := next(1); tag != pool.TagThrottle {
		t.Errorf("after %d small reads tag %d; want that of the timer", smallReads, tag)
	}
	if tag := next(1); tag != tagDiscard {
		t.Errorf("after the timer tag %d; want that of the pipe", tag)
	}
	if err := w.link.detach(slot.Poller); err != nil {
		t.Error(err)
	}
}

// The lease of the first process, which has the memory of all and the slot, ends after those of the others also if
// that process failed, and these are canceled for that. The lease of another one need not last.
func TestFailedProgramsEndTheOthers(t *testing.T) {
	const n = 2
	for which := range n {
		l := &link{channels: make([]*channel, n), started: make(chan struct{}), over: make(chan struct{}), ended: make([]*programEnd, n+1),
			wake: make([]func(), n+1)}
		l.others.Add(n)
		canceled := make(chan struct{})
		failing, other, interactor := l.end(which), l.end(1), l.end(n)
		failing.cancel = func() { close(canceled) }
		over := make(chan struct{})
		go func() {
			defer close(over)
			failing.failed()
		}()
		<-canceled
		if which != 0 {
			<-over
			continue
		}

		interactor.leaseOver()
		select {
		case <-over:
			t.Error("the lease of the first process ends before that of the other one")
		case <-time.After(20 * time.Millisecond):
		}

		other.leaseOver()
		<-over
	}

	var none *linkEnd
	none.failed()
	(&linkEnd{link: &link{}}).failed() // an interactor's end cancels nothing: it has no such function
}
