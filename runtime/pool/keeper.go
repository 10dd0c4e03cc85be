package pool

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// keeper keeps one warm cell per slot and cell key. Its goroutine builds the cell, prepares a shell,
// hands it out, destroys the used shell after the run, and repeats. A lease has exclusive use of
// the cell until the lease is given back.
type keeper struct {
	factory   *cell.Factory
	slot      *Slot
	plan      cell.Plan
	scratch   cell.ScratchSize // of the shells that it prepares; a shell is resized for a run that requests another
	once      bool             // the cell serves one run: mode fresh, or a throw-away layer
	lowMemory bool             // low memory: the used shell is destroyed before the next one is made

	prepared  chan preparedShell // holds at most one prepared shell
	returned  chan bool          // the lease is over; true: the cell is in doubt
	available atomic.Bool        // a prepared shell is ready
	lastLease atomic.Int64       // when the cell was last leased, in monotonic time
	stop      context.CancelFunc
	done      chan struct{}
}

// preparedShell is a cell with a parked shell, or the reason why there is none.
type preparedShell struct {
	Cell  *cell.Cell
	Shell *cell.Shell
	err   error
	begun time.Duration // when its preparation began, in monotonic time
}

func newKeeper(f *cell.Factory, s *Slot, p cell.Plan, once, lowMemory bool, scratch cell.ScratchSize) *keeper {
	ctx, stop := context.WithCancel(context.Background())
	k := &keeper{factory: f, slot: s, plan: p, scratch: scratch, once: once, lowMemory: lowMemory,
		prepared: make(chan preparedShell, 1), returned: make(chan bool, 1), stop: stop, done: make(chan struct{})}
	k.lastLease.Store(int64(linux.Monotonic()))
	go k.run(ctx)
	return k
}

// Close ends the goroutine and, with it, the cell. It must not be called while a run has the cell.
func (k *keeper) Close() {
	k.stop()
	<-k.done
}

// take waits for the prepared shell and takes it. The caller must then send on k.returned, also when
// the result is an error.
func (k *keeper) take(ctx context.Context) (preparedShell, error) {
	select {
	case o := <-k.prepared:
		k.available.Store(false)
		return o, nil
	case <-ctx.Done():
		return preparedShell{}, ctx.Err()
	}
}

// run is the goroutine. It prepares and hands out the next shell before it destroys the used one. So
// no run waits while the pid namespace and the mounts of the used shell go down. Before the agent
// answered the run, it proved that the group of the used shell is empty.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)

	log := k.factory.Log.With("slot", k.slot.index)
	var c *cell.Cell         // in which shells are made
	var retired retiredShell // what the last run used
	for ctx.Err() == nil {
		o := k.prepare(ctx, c)
		switch {
		case o.err == nil:
			c = o.Cell
		case c != nil: // the cell can make no more shells
			retired.cell, c = c, nil
		}

		k.available.Store(o.err == nil)
		k.prepared <- o // never blocks: the last one was taken
		reusable := k.destroy(log, retired)
		retired = retiredShell{shell: o.Shell}
		doubt := !reusable && k.retract() || k.awaitReturn(ctx) || !reusable
		if doubt || k.once {
			retired.cell, c = c, nil
		}
		if doubt || k.lowMemory {
			if !k.destroy(log, retired) && c != nil {
				k.destroy(log, retiredShell{cell: c})
				c = nil
			}
			retired = retiredShell{}
		}
		if k.plan.Copies() { // no copy of an image is prepared ahead: it takes as much memory as a run reserves
			break
		}
	}

	k.destroy(log, retired)
	k.destroy(log, retiredShell{cell: c})
}

// awaitReturn waits until the prepared shell has been taken and given back, and reports whether the
// cell is in doubt. It also returns when the keeper is closed and nobody has the cell.
func (k *keeper) awaitReturn(ctx context.Context) (doubt bool) {
	select {
	case doubt = <-k.returned:
	case <-ctx.Done():
		if !k.retract() {
			doubt = <-k.returned
		}
	}
	return doubt
}

// retract takes back a prepared shell that nobody has taken.
func (k *keeper) retract() bool {
	select {
	case <-k.prepared:
		k.available.Store(false)
		return true
	default:
		return false
	}
}

// prepare makes a shell, in a new cell if c is nil. On failure a given cell still belongs to the
// caller.
func (k *keeper) prepare(ctx context.Context, c *cell.Cell) preparedShell {
	begun := linux.Monotonic() // a failure does not count for requests that arrive after this
	failed := func(err error) preparedShell { return preparedShell{err: err, begun: begun} }
	fresh := c == nil
	if fresh || k.lowMemory {
		defer k.factory.AcquireBuilder()()
	}

	if fresh {
		p := k.plan
		p.Name = k.factory.CellName(k.slot.index)
		var err error
		if c, err = k.factory.New(ctx, p); err != nil {
			return failed(err)
		}
	}

	sh, err := k.prepareShell(ctx, c)
	if err != nil && fresh {
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return failed(err)
	}
	return preparedShell{Cell: c, Shell: sh, begun: begun}
}

func (k *keeper) prepareShell(ctx context.Context, c *cell.Cell) (*cell.Shell, error) {
	if err := c.Step("shell leaf"); err != nil {
		return nil, err
	}
	leaf, err := c.TakeLeaf()
	if err != nil {
		return nil, err
	}
	sh, err := c.NewShell(ctx, leaf, k.scratch.Size, k.scratch.Inodes)
	if err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}
	return sh, nil
}

// retiredShell is what a run leaves to be destroyed: its shell, and its cell when that serves no other
// run. Either may be nil.
type retiredShell struct {
	cell  *cell.Cell
	shell *cell.Shell
}

// destroy destroys a used shell, takes its leaf back, and then destroys a cell that is not needed
// again. It reports whether the shell's cell is as good as new. Any doubt destroys the cell, which
// costs milliseconds.
func (k *keeper) destroy(log *slog.Logger, s retiredShell) bool {
	reusable := true
	if s.shell != nil {
		c := s.shell.Cell
		err := errors.Join(s.shell.Destroy(), c.Step("shell destroy"))
		if err == nil {
			err = c.GiveLeaf(s.shell.Leaf)
		} else {
			err = errors.Join(err, s.shell.Leaf.Close())
		}
		if err != nil {
			log.Warn("cell not reusable", "cell", c.Name, "err", err)
			reusable = false
		}
	}

	if s.cell != nil {
		if err := s.cell.Close(); err != nil {
			log.Error("cell not completely destroyed; the next start of brigd removes the rest", "cell", s.cell.Name, "err", err)
		}
	}

	return reusable
}

// idleFor is the time since the last lease.
func (k *keeper) idleFor() time.Duration {
	return linux.Monotonic() - time.Duration(k.lastLease.Load())
}
