package run

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/seccomp"
)

// onNotify answers a call about which the kernel notifies the agent.
func (w *supervisor) onNotify(events uint32) error {
	if events&unix.EPOLLIN == 0 {
		return nil
	}

	n, ok, err := linux.ReceiveNotif(w.Cell.Listener)
	if err != nil || !ok {
		return err
	}

	var until time.Duration
	price := calls.PriceRefused
	switch d := w.filter.Decide(n); {
	case d.Action == seccomp.ActCount:
		var errno seccomp.Errno
		if errno, until, err = w.quotas.Answer(d.Name, n.Args, calls.Scans{
			Locks: w.heldLocks, OnShared: func() bool { return w.own.Locks(n) }, Listings: w.heldListings,
		}); err != nil {
			return err
		}
		if errno == 0 {
			price = calls.PriceCounted
			err = errors.Join(w.calls.PollDirectly(), w.carryOut(d.Name, n))
			break
		}
		w.refused.Add(w.filter.Refusal(d, errno))
		err = linux.Refuse(w.Cell.Listener, n.ID, unix.Errno(errno))

	case w.filter.Mode == api.Log:
		w.logged = calls.NoteLogged(w.logged, w.filter.Denial(n, d))
		err = linux.ContinueSyscall(w.Cell.Listener, n.ID)
	case d.Action == seccomp.ActErrno:
		w.refused.Add(w.filter.Refusal(d, d.Errno))
		err = linux.Refuse(w.Cell.Listener, n.ID, unix.Errno(d.Errno))
	default:
		return w.onDenial(w.filter.Denial(n, d)) // its task waits in the call for the end
	}

	if err != nil {
		return err
	}
	return w.calls.PauseUntil(max(until, w.calls.Budget.Spend(price, linux.Monotonic())))
}

// carryOut lets a counted call be executed: by the kernel, or, with a shorter queue, by the agent.
func (w *supervisor) carryOut(call string, n linux.SeccompNotif) error {
	if call != "listen" {
		return linux.ContinueSyscall(w.Cell.Listener, n.ID)
	}
	errno, err := calls.Listen(w.Cell.Listener, n, plan.QueueLength)
	if err != nil {
		return err
	}
	return linux.Return(w.Cell.Listener, n.ID, errno)
}

// NewQuotas returns the quotas of a run or session: its group is empty, so it holds nothing.
func NewQuotas() calls.Quotas {
	return calls.NewQuotas(plan.MaxListings, calls.NetworkQuota{Listens: plan.ListenCalls, Netlinks: plan.NetlinkSockets})
}

// heldListings counts the directories that the run has open.
func (w *supervisor) heldListings() (int, error) { return calls.HeldListings(w.Shell.Leaf) }

// heldLocks counts the locks that the run holds.
func (w *supervisor) heldLocks(whole, shared int) (calls.LockCount, error) {
	return calls.HeldLocks(w.Shell.Leaf, w.own, whole, shared, !w.filter.HidesFiles)
}

// lateDenial looks for a forbidden call when the program has ended: among the waiting calls of
// processes that it left. However the program times its end, and even while the listener is silent,
// such a call is reported (SEC-43). No call is answered, so each process and thread waits in at
// most one call; all are killed next.
func (w *supervisor) lateDenial() error {
	if w.Cell.Listener == nil || w.Session != nil || w.filter.Mode == api.Log { // a session's own goroutine listens for its execs
		return nil
	}

	for range w.limits.Pids {
		waiting, err := linux.Readable(w.Cell.Listener)
		if err != nil || !waiting || w.ev.Denial != nil {
			return err
		}

		n, ok, err := linux.ReceiveNotif(w.Cell.Listener)
		if err != nil {
			return err
		}
		if !ok {
			continue // it has ended
		}
		if d := w.filter.Decide(n); d.Action != seccomp.ActCount && d.Action != seccomp.ActErrno {
			denial := w.filter.Denial(n, d)
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
