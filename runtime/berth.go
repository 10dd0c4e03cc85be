package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	groups "github.com/brig-sandbox/brig/cgroups"
)

// A berth keeps one cell of one slot ready: a goroutine of its own builds the
// cell, has a shell made, offers it, and after the run buries what was used and
// begins again. Whoever is offered a shell has the cell to himself until he gives
// it back.
type berth struct {
	host *Host
	slot *slot
	plan cellPlan
	once bool // the cell serves one run: mode fresh, or a throw-away layer
	lean bool // the used shell is buried before the next is made

	ready chan offer   // holds the one offer that stands
	back  chan bool    // who took the offer needs it no more; true: the cell is in doubt
	waits atomic.Bool  // a shell stands ready
	used  atomic.Int64 // when it was last leased, as monotonic time
	stop  context.CancelFunc
	done  chan struct{}
}

// An offer is a cell with a parked shell, or the reason there is none.
type offer struct {
	cell  *cell
	shell *shell
	err   error
	at    time.Duration // when its making began, as monotonic time
}

func newBerth(h *Host, s *slot, p cellPlan, once, lean bool) *berth {
	ctx, stop := context.WithCancel(context.Background())
	b := &berth{host: h, slot: s, plan: p, once: once, lean: lean,
		ready: make(chan offer, 1), back: make(chan bool, 1), stop: stop, done: make(chan struct{})}
	b.used.Store(int64(monotonic()))
	go b.keep(ctx)
	return b
}

// Close ends the keeper and, with it, the cell. It must not be called while a run
// has the cell.
func (b *berth) Close() {
	b.stop()
	<-b.done
}

// take waits for the offer and takes it; it must be given back on b.back, also
// when it is an error.
func (b *berth) take(ctx context.Context) (offer, error) {
	select {
	case o := <-b.ready:
		b.waits.Store(false)
		return o, nil
	case <-ctx.Done():
		return offer{}, ctx.Err()
	}
}

// keep is the berth's goroutine. The next shell is made and offered before the
// used one is buried: that one's pid namespace and mounts go down meanwhile, and
// no run waits for them. That its group is empty was proven before its run was
// answered.
func (b *berth) keep(ctx context.Context) {
	defer close(b.done)
	log := b.host.log.With("slot", b.slot.index)
	var c *cell    // to make shells in
	var left spent // what the last run used
	for ctx.Err() == nil {
		o := b.prepare(ctx, c)
		switch {
		case o.err == nil:
			c = o.cell
		case c != nil: // it makes no shells any more
			left.cell, c = c, nil
		}
		b.waits.Store(o.err == nil)
		b.ready <- o // never waits: the last one was taken
		sound := b.bury(log, left)
		left = spent{shell: o.shell}
		doubt := !sound && b.retract() || b.settled(ctx) || !sound
		if doubt || b.once {
			left.cell, c = c, nil
		}
		if doubt || b.lean {
			if !b.bury(log, left) && c != nil {
				b.bury(log, spent{cell: c})
				c = nil
			}
			left = spent{}
		}
		if b.plan.copies() { // nobody's copy of an image lies ready: it takes the memory of a run
			break
		}
	}
	b.bury(log, left)
	b.bury(log, spent{cell: c})
}

// settled waits until the offer has been taken and given back, and reports doubt;
// or until the berth is closed, when nobody has the cell any more.
func (b *berth) settled(ctx context.Context) (doubt bool) {
	select {
	case doubt = <-b.back:
	case <-ctx.Done():
		if !b.retract() {
			doubt = <-b.back
		}
	}
	return doubt
}

// retract takes an offer back that nobody has taken.
func (b *berth) retract() bool {
	select {
	case <-b.ready:
		b.waits.Store(false)
		return true
	default:
		return false
	}
}

// prepare makes a shell, in a new cell if there is none. On failure a cell given
// is still the caller's.
func (b *berth) prepare(ctx context.Context, c *cell) offer {
	begun := monotonic() // a failure says nothing to who asked after that
	failed := func(err error) offer { return offer{err: err, at: begun} }
	fresh := c == nil
	if fresh || b.lean {
		b.host.builders <- struct{}{}
		defer func() { <-b.host.builders }()
	}
	if fresh {
		p := b.plan
		p.name = b.host.cellName(b.slot.index)
		var err error
		if c, err = b.host.newCell(ctx, p); err != nil {
			return failed(err)
		}
	}
	sh, err := b.prepareShell(ctx, c)
	if err != nil && fresh {
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return failed(err)
	}
	return offer{cell: c, shell: sh, at: begun}
}

func (b *berth) prepareShell(ctx context.Context, c *cell) (*shell, error) {
	if err := c.step("shell leaf"); err != nil {
		return nil, err
	}
	leaf, err := c.takeLeaf()
	if err != nil {
		return nil, err
	}
	size, inodes := b.host.scratchDefaults()
	sh, err := c.newShell(ctx, leaf, size, inodes)
	if err != nil {
		return nil, errors.Join(err, leaf.Remove())
	}
	return sh, nil
}

// A spent is what a run leaves to be buried: its shell, and the cell when that
// serves no other run. Either may be nil.
type spent struct {
	cell  *cell
	shell *shell
}

// bury takes a used shell down and its leaf back, and then a cell that is not
// needed again. It reports whether the shell's cell is as good as new: any doubt
// destroys it, which costs milliseconds.
func (b *berth) bury(log *slog.Logger, s spent) bool {
	sound := true
	if s.shell != nil {
		c := s.shell.cell
		err := errors.Join(s.shell.bury(), c.step("shell bury"))
		if err == nil {
			err = c.giveLeaf(s.shell.leaf)
		} else {
			err = errors.Join(err, s.shell.leaf.Close())
		}
		if err != nil {
			log.Warn("cell not reusable", "cell", c.name, "err", err)
			sound = false
		}
	}
	if s.cell != nil {
		if err := s.cell.Close(); err != nil {
			log.Error("cell not destroyed whole; the next start of brigd removes the rest", "cell", s.cell.name, "err", err)
		}
	}
	return sound
}

// takeLeaf returns an empty leaf group for the next run: one whose counters can
// begin anew, or a new one.
func (c *cell) takeLeaf() (*groups.Leaf, error) {
	if n := len(c.spare); n > 0 {
		leaf := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return leaf, nil
	}
	c.leafs++
	return c.group.NewLeaf(fmt.Sprintf("r%d", c.leafs))
}

// giveLeaf keeps a leaf for the next run, or removes it when a counter of it
// cannot be reset or memory of the last run is still charged to it (MEM-16).
func (c *cell) giveLeaf(leaf *groups.Leaf) error {
	empty, err := leaf.Empty()
	if err == nil && !empty {
		err = errors.New("processes remain in a leaf group")
	}
	charged, cerr := leaf.Current()
	if err = errors.Join(err, cerr, c.step("leaf keep")); err != nil {
		return errors.Join(err, leaf.Close()) // the groups go with the cell
	}
	if !leaf.Reusable() || charged > leftCharge {
		return c.dropLeaf(leaf)
	}
	c.spare = append(c.spare, leaf)
	return nil
}

// reclaim is what dropLeaf does, for a session that ends: at once.
func reclaim(leaf *groups.Leaf) error {
	kernel, err := leaf.Kernel()
	if err != nil || kernel <= leftKernel {
		return err
	}
	return leaf.Reclaim()
}

// leftKernel is how much of the kernel's objects is left alone: those of the files of an
// image that a run opens are not worth to be made anew. The first run of a Node image leaves
// 256 KiB; runs that each leave a little less than this add up until the kernel needs the memory.
const leftKernel = 1 << 20

// leftCharge is how much of an earlier run's page cache and kernel objects may
// stay charged to a leaf: it counts against the next run's limit until reclaimed.
const leftCharge = 1 << 20

// idleFor is how long ago the berth was last leased.
func (b *berth) idleFor() time.Duration { return monotonic() - time.Duration(b.used.Load()) }
