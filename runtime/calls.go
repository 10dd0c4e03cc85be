package runtime

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
	"github.com/brig-sandbox/brig/seccomp"
)

// The calls of one exec that its profile forbids or refuses, on their way from the
// session, to which the kernel tells those of all, to the exec's watch.
type calls struct {
	mu      sync.Mutex
	denied  *api.Denial  // guarded by mu; the first that ends the exec
	logged  []api.Denial // guarded by mu
	refused refusals     // guarded by mu
	tell    func()       // guarded by mu; nil: nobody watches yet
}

// deny adds one that ends the exec.
func (c *calls) deny(d api.Denial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.denied == nil {
		c.denied = &d
	}
	if c.tell != nil {
		c.tell()
	}
}

// note adds one that was let go on, or that was refused.
func (c *calls) note(logged *api.Denial, refused *api.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if logged != nil {
		c.logged = noteLogged(c.logged, *logged)
	}
	if refused != nil {
		c.refused.add(*refused)
	}
}

// denial is the one that ends the exec; nil: none.
func (c *calls) denial() *api.Denial {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denied
}

// told gives those that the exec went on after.
func (c *calls) told() ([]api.Denial, refusals) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logged), slices.Clone(c.refused)
}

// watched has tell called for each that ends the exec.
func (c *calls) watched(tell func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell = tell
	if c.denied != nil && tell != nil {
		tell()
	}
}

// onCall takes a call of any process in the session that the kernel asks about. The exec
// it belongs to is known by the group of who made it, which cannot leave that group; it
// waits in the call until it is answered or killed, and if it still does when the group
// was read, its number was its own. A call that is counted is the whole session's.
func (s *session) onCall(events uint32) error {
	if events&unix.EPOLLIN == 0 {
		return nil
	}
	if s.locks.due() { // before a call is taken, which would have to be answered
		looks := &s.host.sessions.looks
		if later := looks.begin(); later > 0 {
			return s.calls.hold(later)
		}
		defer looks.end(monotonic())
	}
	n, ok, err := receiveNotif(s.listener)
	if err != nil || !ok {
		return err
	}
	f := s.plan.cell.filter
	d := f.decide(n)
	errno := d.Errno
	var until time.Duration
	if d.Action == seccomp.ActCount {
		if errno, until, err = s.locks.answer(d.Name, n.Args, s.heldLocks, func() bool { return s.own.locks(n) }); err != nil {
			return err
		}
		if errno == 0 {
			if err := errors.Join(s.calls.near(), letGo(s.listener, n.ID)); err != nil {
				return err
			}
			return s.calls.hold(max(until, s.calls.pace.spend(priceCounted, monotonic())))
		}
	}
	leaf, err := s.callersLeaf(n)
	if err != nil || leaf == nil {
		return err
	}
	switch {
	case f.mode == api.Log && d.Action != seccomp.ActCount:
		logged := f.denial(n, d)
		s.note(*leaf, &logged, nil)
		err = letGo(s.listener, n.ID)
	case d.Action == seccomp.ActErrno, d.Action == seccomp.ActCount:
		refused := f.refusal(d, errno)
		s.note(*leaf, nil, &refused)
		err = refuse(s.listener, n.ID, errno)
	default:
		return s.charge(*leaf, f.denial(n, d))
	}
	if err != nil {
		return err
	}
	return s.calls.hold(max(until, s.calls.pace.spend(priceForeseen, monotonic())))
}

// callersLeaf is the leaf of who made a call; nil: it has ended.
func (s *session) callersLeaf(n seccompNotif) (*string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", n.Pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, nil // somebody killed it in its call
	}
	if err != nil {
		return nil, err
	}
	if valid, err := notifValid(s.listener, n.ID); err != nil || !valid {
		return nil, err // as before; what was read may be of another
	}
	leaf := leafOf(string(text), s.cell.name)
	return &leaf, nil
}

// heldLocks counts the locks of all that runs in the session.
func (s *session) heldLocks(whole, shared int) (lockCount, error) {
	return heldLocks(s.group, s.own, whole, shared, !s.plan.cell.filter.hides)
}

// note tells the exec whose leaf has the name of a call that it went on after. What an
// exec has left running has nobody to tell.
func (s *session) note(leaf string, logged *api.Denial, refused *api.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.visits {
		if v != nil && v.leaf != nil && v.leaf.Name() == leaf {
			v.calls.note(logged, refused)
		}
	}
}

// charge hands a call to the exec whose leaf has the name. One that is nobody's any
// more ends what has made it: what an exec has left is stopped whole, as it would be.
func (s *session) charge(leaf string, d api.Denial) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.visits {
		if v != nil && v.leaf != nil && v.leaf.Name() == leaf {
			v.calls.deny(d)
			return nil
		}
	}
	for _, l := range s.stay {
		if l.Name() == leaf {
			return l.Kill()
		}
	}
	return fmt.Errorf("the call %s comes from outside of every exec", d.Syscall)
}

// leafOf finds, in a /proc/PID/cgroup, the leaf of an exec, named below its cell.
// Empty: none.
func leafOf(text, cell string) string {
	for line := range strings.Lines(text) {
		if _, leaf, ok := strings.Cut(strings.TrimSpace(line), "/"+cell+"/"); ok && strings.HasPrefix(leaf, "execs/") {
			return leaf
		}
	}
	return ""
}
