package runtime

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// The calls of one exec that its profile forbids, on their way from the session, to
// which the kernel tells those of all, to the exec's watch.
type calls struct {
	mu   sync.Mutex
	new  []api.Denial // guarded by mu
	tell func()       // guarded by mu; nil: nobody watches yet
}

// give adds one.
func (c *calls) give(d api.Denial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.new) < maxLogged || !d.Allowed {
		c.new = append(c.new, d)
	}
	if c.tell != nil {
		c.tell()
	}
}

// take gives those that came since.
func (c *calls) take() []api.Denial {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.new
	c.new = nil
	return out
}

// watched has tell called for each that comes.
func (c *calls) watched(tell func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell = tell
	if len(c.new) > 0 && tell != nil {
		tell()
	}
}

// onCall takes a forbidden call of any process in the session. The exec it belongs to
// is known by the group of who made it, which cannot leave that group; it waits in the
// call until it is let go or killed, and if it still does when the group was read, its
// number was its own.
func (s *session) onCall(events uint32) error {
	if events&unix.EPOLLIN == 0 {
		return nil
	}
	n, ok, err := receiveNotif(s.listener)
	if err != nil || !ok {
		return err
	}
	d := s.plan.cell.filter.denial(n)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", n.Pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil // it has ended: somebody killed it in its call
	}
	if err != nil {
		return err
	}
	if valid, err := notifValid(s.listener, n.ID); err != nil || !valid {
		return err // as before; what was read may be of another
	}
	if err := s.charge(leafOf(string(text), s.cell.name), d); err != nil {
		return err
	}
	if d.Allowed {
		return letGo(s.listener, n.ID)
	}
	return nil
}

// charge hands a call to the exec whose leaf has the name. One that is nobody's any
// more ends what has made it: what an exec has left is stopped whole, as it would be.
func (s *session) charge(leaf string, d api.Denial) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.visits {
		if v != nil && v.leaf != nil && v.leaf.Name() == leaf {
			v.calls.give(d)
			return nil
		}
	}
	if d.Allowed {
		return nil
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
