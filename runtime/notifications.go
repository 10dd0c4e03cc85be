package runtime

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

// onNotify answers a call about which the kernel notifies the agent.
func (w *supervisor) onNotify(events uint32) error {
	if events&unix.EPOLLIN == 0 {
		return nil
	}
	n, ok, err := receiveNotif(w.cell.listener)
	if err != nil || !ok {
		return err
	}
	var until time.Duration
	price := priceRefused
	switch d := w.filter.decide(n); {
	case d.Action == seccomp.ActCount:
		var errno seccomp.Errno
		if errno, until, err = w.locks.answer(d.Name, n.Args, w.heldLocks, func() bool { return w.own.locks(n) }); err != nil {
			return err
		}
		if errno == 0 {
			price = priceCounted
			err = errors.Join(w.calls.pollDirectly(), continueSyscall(w.cell.listener, n.ID))
			break
		}
		w.refused.add(w.filter.refusal(d, errno))
		err = refuse(w.cell.listener, n.ID, unix.Errno(errno))
	case w.filter.Mode == api.Log:
		w.logged = noteLogged(w.logged, w.filter.denial(n, d))
		err = continueSyscall(w.cell.listener, n.ID)
	case d.Action == seccomp.ActErrno:
		w.refused.add(w.filter.refusal(d, d.Errno))
		err = refuse(w.cell.listener, n.ID, unix.Errno(d.Errno))
	default:
		return w.onDenial(w.filter.denial(n, d)) // its task waits in the call for the end
	}
	if err != nil {
		return err
	}
	return w.calls.pauseUntil(max(until, w.calls.budget.spend(price, monotonic())))
}

// heldLocks counts the locks that the run holds.
func (w *supervisor) heldLocks(whole, shared int) (lockCount, error) {
	return heldLocks(w.shell.leaf, w.own, whole, shared, !w.filter.HidesFiles)
}

// lateDenial looks for a forbidden call when the program has ended: among the waiting calls of
// processes that it left. However the program times its end, and even while the listener is silent,
// such a call is reported (SEC-43). No call is answered, so each process and thread waits in at
// most one call; all are killed next.
func (w *supervisor) lateDenial() error {
	if w.cell.listener == nil || w.session != nil || w.filter.Mode == api.Log { // a session's own goroutine listens for its execs
		return nil
	}
	for range w.limits.Pids {
		waiting, err := readable(w.cell.listener)
		if err != nil || !waiting || w.ev.Denial != nil {
			return err
		}
		n, ok, err := receiveNotif(w.cell.listener)
		if err != nil {
			return err
		}
		if !ok {
			continue // it has ended
		}
		if d := w.filter.decide(n); d.Action != seccomp.ActCount && d.Action != seccomp.ActErrno {
			denial := w.filter.denial(n, d)
			w.ev.Denial = &denial
		}
	}
	return nil
}

// onDenial ends the run for a call that the profile forbids.
func (w *supervisor) onDenial(d api.Denial) error {
	if w.ev.Denial == nil {
		w.ev.Denial = &d
	}
	return w.stop()
}
