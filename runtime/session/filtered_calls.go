package session

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/seccomp"
)

// filteredCalls are the system calls of one exec that its profile forbids or refuses. The kernel reports
// the calls of all execs to the session, which passes them to the supervisor of the exec.
type filteredCalls struct {
	mu      sync.Mutex
	denied  *api.Denial    // guarded by mu; the first that ends the exec
	logged  []api.Denial   // guarded by mu
	refused calls.Refusals // guarded by mu
	notify  func()         // guarded by mu; nil: no supervisor is attached yet
}

// deny adds a call that ends the exec.
func (c *filteredCalls) deny(d api.Denial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.denied == nil {
		c.denied = &d
	}
	if c.notify != nil {
		c.notify()
	}
}

// note adds a call that was allowed to continue, or that was refused.
func (c *filteredCalls) note(logged *api.Denial, refused *api.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if logged != nil {
		c.logged = calls.NoteLogged(c.logged, *logged)
	}
	if refused != nil {
		c.refused.Add(*refused)
	}
}

// Denial is the call that ends the exec; nil: none.
func (c *filteredCalls) Denial() *api.Denial {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denied
}

// reported returns the calls after which the exec went on.
func (c *filteredCalls) reported() ([]api.Denial, calls.Refusals) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logged), slices.Clone(c.refused)
}

// Subscribe has tell called for each call that ends the exec. nil detaches the supervisor.
func (c *filteredCalls) Subscribe(notify func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notify = notify
	if c.denied != nil && notify != nil {
		notify()
	}
}

// onNotification handles a system call, of any process in the session, about which the kernel asks. The
// group of the calling process identifies the exec: a process cannot leave its group. The process
// waits in the call until the call is answered or the process is killed. If the notification is
// still valid after its group was read, the process id was not reused. A counted call (of file
// locks) belongs to the session as a whole.
func (s *session) onNotification(events uint32) error {
	if events&unix.EPOLLIN == 0 {
		return nil
	}
	if s.quotas.Due() { // before a call is received, which would then have to be answered
		slot := &s.registry.scans
		if later := slot.Begin(); later > 0 {
			return s.calls.PauseUntil(later)
		}
		defer slot.End(linux.Monotonic())
	}

	n, ok, err := linux.ReceiveNotif(s.listener)
	if err != nil || !ok {
		return err
	}

	f := s.cell.Filter
	d := f.Decide(n)
	errno := d.Errno
	var until time.Duration
	if d.Action == seccomp.ActCount {
		if errno, until, err = s.quotas.Answer(d.Name, n.Args, calls.Scans{
			Locks: s.heldLocks, OnShared: func() bool { return s.own.Locks(n) },
			Listings: func() (int, error) { return calls.HeldListings(s.group) },
		}); err != nil {
			return err
		}
		if errno == 0 {
			if err := errors.Join(s.calls.PollDirectly(), linux.ContinueSyscall(s.listener, n.ID)); err != nil {
				return err
			}
			return s.calls.PauseUntil(max(until, s.calls.Budget.Spend(calls.PriceCounted, linux.Monotonic())))
		}
	}

	leaf, err := s.callerLeaf(n)
	if err != nil || leaf == nil {
		return err
	}

	switch {
	case f.Mode == api.Log && d.Action != seccomp.ActCount:
		logged := f.Denial(n, d)
		s.noteCall(*leaf, &logged, nil)
		err = linux.ContinueSyscall(s.listener, n.ID)
	case d.Action == seccomp.ActErrno, d.Action == seccomp.ActCount:
		refused := f.Refusal(d, errno)
		s.noteCall(*leaf, nil, &refused)
		err = linux.Refuse(s.listener, n.ID, unix.Errno(errno))
	default:
		return s.denyCall(*leaf, f.Denial(n, d))
	}

	if err != nil {
		return err
	}
	return s.calls.PauseUntil(max(until, s.calls.Budget.Spend(calls.PriceInSession, linux.Monotonic())))
}

// callerLeaf is the leaf of the calling process; nil: the process has ended.
func (s *session) callerLeaf(n linux.SeccompNotif) (*string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", n.Pid))
	if procfs.IsEnded(err) {
		return nil, nil // it was killed during its call
	}
	if err != nil {
		return nil, err
	}
	if valid, err := linux.NotifValid(s.listener, n.ID); err != nil || !valid {
		return nil, err // it has ended; what was read may belong to another process
	}
	leaf := leafOf(string(text), s.cell.Name)
	return &leaf, nil
}

// heldLocks counts the locks of all processes in the session.
func (s *session) heldLocks(whole, shared int) (calls.LockCount, error) {
	return calls.HeldLocks(s.group, s.own, whole, shared, !s.plan.Cell.Policy.HidesFiles)
}

// noteCall passes a call that did not end its caller to the exec with this leaf. A call of a process
// that an ended exec has left running is not reported anywhere.
func (s *session) noteCall(leaf string, logged *api.Denial, refused *api.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.running {
		if v != nil && v.leaf != nil && v.leaf.Name() == leaf {
			v.calls.note(logged, refused)
		}
	}
}

// denyCall passes a denied call to the exec with this leaf. If that exec has ended, charge kills the
// whole leaf: what an ended exec has left running is stopped whole, like a running exec.
func (s *session) denyCall(leaf string, d api.Denial) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, v := range s.running {
		if v != nil && v.leaf != nil && v.leaf.Name() == leaf {
			v.calls.deny(d)
			return nil
		}
	}

	for _, l := range s.leftLeaves {
		if l.Name() == leaf {
			return l.Kill()
		}
	}

	return fmt.Errorf("the call %s does not come from any exec", d.Syscall)
}

// leafOf finds the leaf of an exec in the text of /proc/PID/cgroup. The name is relative to the
// cell's group; empty: none.
func leafOf(text, cell string) string {
	for line := range strings.Lines(text) {
		if _, leaf, ok := strings.Cut(strings.TrimSpace(line), "/"+cell+"/"); ok && strings.HasPrefix(leaf, "execs/") {
			return leaf
		}
	}
	return ""
}
