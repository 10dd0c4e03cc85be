package session

import (
	"context"
	"errors"
	"fmt"
	"os"

	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A base is what a session is built on, and has nothing of a caller: a cell that no run uses, the group of everything
// that will run in it, an empty scratch, and a shell that has mounted it. Each is made for one session and ends with
// it.
type base struct {
	of       *Registry
	idRange  *idRange
	cell     *cell.Cell
	listener *os.File // the cell's; nil when it has no filter
	group    *groups.Branch
	scratch  *cell.Scratch
	sock     linux.Seqpacket // of its shell
	pidfd    *os.File        // of its shell; nil: it has none yet
}

// newBase makes a base that has only its range of ids, which free gives back.
func (r *Registry) newBase() (*base, error) {
	ids, err := r.takeRange()
	return &base{of: r, idRange: ids}, err
}

// free gives back the range of ids of a base that is closed, or was not built.
func (b *base) free() { b.of.giveRange(b.idRange) }

// build makes all of a base but its shell. On failure nothing is left. The caller has acquired a builder.
func (b *base) build(ctx context.Context, want cell.Plan, size cell.ScratchSize) (err error) {
	factory := b.of.runner.Pool.Factory
	undo := rollback.On(&err)
	defer undo.Run()

	// 1. A cell that no run uses.
	want.Name, want.Slot, want.IDs = factory.SessionCellName(), b.idRange.index, &b.idRange.ids
	if b.cell, err = factory.New(ctx, want); err != nil {
		return err
	}

	undo.Add(func() error { return b.cell.Close() })
	b.listener, b.cell.Listener = b.cell.Listener, nil
	if b.listener != nil {
		undo.Add(b.listener.Close)
	}

	// 2. The group of everything that will run in the session is a sibling of the group of the
	// cell's own processes. These are not charged, and no program can make the kernel choose them.
	if err := factory.Step("session group"); err != nil {
		return err
	}
	if b.group, err = b.cell.Group.NewBranch("execs"); err != nil {
		return err
	}

	undo.Add(func() error { return b.group.Close() })

	// 3. The scratch, which no program has seen.
	ids := plan.SlotIDs(b.idRange.index)
	if b.scratch, err = cell.NewScratch(size.Size, size.Inodes, ids+plan.UID, ids+plan.GID); err != nil {
		return err
	}

	undo.Release()
	return nil
}

// makeShell makes the shell, and waits until it has mounted the scratch and the volume; nil: there is none.
func (b *base) makeShell(ctx context.Context, volume *os.File) (err error) {
	if err := b.of.runner.Pool.Factory.Step("session shell"); err != nil {
		return err
	}
	if b.sock, b.pidfd, err = b.cell.NewSessionShell(ctx, b.scratch, volume); err != nil {
		return fmt.Errorf("cell %s: make the session's shell: %w", b.cell.Name, err)
	}
	return nil
}

// dead reports whether the shell has ended, as it does when the host runs out of memory.
func (b *base) dead() bool {
	ended, err := linux.Readable(b.pidfd)
	return ended || err != nil
}

// close closes what is open and destroys the cell. No program may be in it.
func (b *base) close() error {
	var err error
	if b.pidfd != nil {
		err = errors.Join(b.pidfd.Close(), b.sock.Close())
	}
	err = errors.Join(err, b.scratch.Close(), b.group.Close())
	if b.listener != nil {
		err = errors.Join(err, b.listener.Close())
	}
	return errors.Join(err, b.cell.Close())
}
