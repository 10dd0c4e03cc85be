package runtime

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

// onNotify answers a call that the kernel asks about.
func (w *watch) onNotify(events uint32) error {
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
			err = errors.Join(w.calls.near(), letGo(w.cell.listener, n.ID))
			break
		}
		w.refused.add(w.filter.refusal(d, errno))
		err = refuse(w.cell.listener, n.ID, errno)
	case w.filter.mode == api.Log:
		w.logged = noteLogged(w.logged, w.filter.denial(n, d))
		err = letGo(w.cell.listener, n.ID)
	case d.Action == seccomp.ActErrno:
		w.refused.add(w.filter.refusal(d, d.Errno))
		err = refuse(w.cell.listener, n.ID, d.Errno)
	default:
		return w.onDenial(w.filter.denial(n, d)) // it waits in its call for the end
	}
	if err != nil {
		return err
	}
	return w.calls.hold(max(until, w.calls.pace.spend(price, monotonic())))
}

// heldLocks counts the locks of the run.
func (w *watch) heldLocks(whole, shared int) (lockCount, error) {
	return heldLocks(w.shell.leaf, w.own, whole, shared, !w.filter.hides)
}

// lateDenial looks for a forbidden call among those that wait when the program has ended, by
// processes that it left: however the program times its end, and whatever keeps the listener
// silent, such a call is told (SEC-43). No call is answered, so that each process and thread
// waits in one at most; all are killed next.
func (w *watch) lateDenial() error {
	if w.cell.listener == nil || w.shell.visit != nil || w.filter.mode == api.Log { // the session listens for its execs
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
func (w *watch) onDenial(d api.Denial) error {
	if w.ev.Denial == nil {
		w.ev.Denial = &d
	}
	return w.stop()
}
