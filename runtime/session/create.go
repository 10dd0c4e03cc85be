package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
)

// newSession builds a session: a cell, its group, and its namespaces with their mounts. On failure
// nothing is left.
func (r *Registry) newSession(ctx context.Context, p *plan.Session, at *idRange,
	owner api.Caller) (_ *session, err error) {
	s := &session{
		registry: r, id: plan.NewID(), owner: owner, plan: p, idRange: at, born: linux.Monotonic(), made: time.Now(),
		done: make(chan struct{}), files: map[*os.File]struct{}{}, lists: newListQueue(maxSessionLists, maxSessionWaiting),
		quotas: run.NewQuotas(), programs: map[string]heldName{}, single: make(chan struct{}, 1),
	}

	factory := r.runner.Pool.Factory
	undo := rollback.On(&err)
	defer undo.Run()

	// 1. Its volume is mounted, or made, in the background: that takes as long as a cell.
	volumeReady := func() error { return nil }
	if p.Ask.Volume != nil {
		if err := r.Volumes.CheckFree(p, owner); err != nil {
			return nil, err
		}

		done := make(chan error, 1)
		go func() { done <- r.mountVolume(ctx, s) }()
		volumeReady = sync.OnceValue(func() error { return <-done })
		undo.Add(func() error {
			_ = volumeReady() // its error, if any, is reported already, or is not the first
			if s.volume == nil {
				return nil
			}
			return s.volume.Close()
		})
	}

	releaseBuilder := sync.OnceFunc(factory.AcquireBuilder())
	defer releaseBuilder()

	// 2. A cell that no run uses.
	want, err := factory.Plan(p.Cell)
	if err != nil {
		return nil, err
	}

	want.Name, want.Slot, want.IDs = factory.SessionCellName(), at.index, &at.ids
	if s.cell, err = factory.New(ctx, want); err != nil {
		return nil, err
	}

	undo.Add(func() error { return s.cell.Close() })
	s.listener, s.cell.Listener = s.cell.Listener, nil
	if s.listener != nil {
		undo.Add(s.listener.Close)
	}

	// 3. The group of everything that will run in the session is a sibling of the group of the
	// cell's own processes. These are not charged, and no program can make the kernel choose them.
	if err := factory.Step("session group"); err != nil {
		return nil, err
	}
	if s.group, err = s.cell.Group.NewBranch("execs"); err != nil {
		return nil, err
	}

	undo.Add(func() error { return s.group.Close() })
	if err := errors.Join(s.group.Apply(cell.GroupLimits(p.Limits, "")), s.group.Begin()); err != nil {
		return nil, fmt.Errorf("limits of the session: %w", err)
	}

	// 4. The shell has mounted scratch and volume and reports that.
	if err := factory.Step("session shell"); err != nil {
		return nil, err
	}

	base := plan.SlotIDs(at.index)
	if s.scratch, err = cell.NewScratch(p.Limits.Scratch, p.Limits.Inodes, base+plan.UID, base+plan.GID); err != nil {
		return nil, err
	}

	undo.Add(s.scratch.Close)
	releaseBuilder() // a session that waits for a volume, which another one is leaving, does not keep others from building a cell
	if err := volumeReady(); err != nil {
		return nil, err
	}
	if err := s.boundVolume(r.Volumes.Rate); err != nil {
		return nil, fmt.Errorf("rate of the volume: %w", err)
	}

	var mounted *os.File
	if s.volume != nil {
		mounted = s.volume.SessionMount
	}
	if s.sock, s.pidfd, err = s.cell.NewSessionShell(ctx, s.scratch, mounted); err != nil {
		return nil, fmt.Errorf("cell %s: make the session's shell: %w", s.cell.Name, err)
	}

	undo.Add(s.sock.Close)
	undo.Add(s.pidfd.Close)
	if s.volume != nil {
		if err := s.volume.CloseSessionMount(); err != nil {
			return nil, err
		}
	}

	// 5. The agent receives events of the session.
	if err := factory.Step("session watch"); err != nil {
		return nil, err
	}
	if err := s.openEvents(undo); err != nil {
		return nil, err
	}

	s.over, s.stop = context.WithCancel(context.Background())
	s.used = linux.Monotonic()
	undo.Release()
	return s, nil
}

// mountVolume mounts a session's volume, and makes sure that the image has a mount point for it.
func (r *Registry) mountVolume(ctx context.Context, s *session) (err error) {
	factory := r.runner.Pool.Factory
	if err := factory.Step("session volume"); err != nil {
		return err
	}
	if err := factory.Images.EnsureWorkspace(s.plan.Image.Digest); err != nil {
		return err
	}
	userns, err := s.idRange.ids.ForImage(plan.SlotIDs(s.idRange.index))
	if err == nil {
		s.volume, err = r.Volumes.Mount(ctx, s.plan, s.id, s.owner, userns)
	}
	return err
}

// boundVolume bounds how fast the session reads from its volume and writes to it, if the operator
// has set a rate: zero is none.
//
// The bound is on the loop device, not on the disk below: where the loop device cannot use direct
// I/O, the writes below it are charged to no session (seen on 6.1), and there may be several disks.
func (s *session) boundVolume(rate api.Size) error {
	if s.volume == nil || rate == 0 {
		return nil
	}
	return s.group.SetDiskRate(s.volume.Device, int64(rate))
}

// openEvents makes the poller, timers and wake event that handleEvents waits with.
func (s *session) openEvents(undo *rollback.Steps) (err error) {
	if s.poller, err = linux.NewPoller(); err != nil {
		return err
	}

	undo.Add(s.poller.Close)
	if s.timer, err = linux.NewTimer(); err != nil {
		return err
	}

	undo.Add(s.timer.File.Close)
	if s.callTimer, err = linux.NewTimer(); err != nil {
		return err
	}

	undo.Add(s.callTimer.File.Close)
	if s.wake, err = linux.NewEventfd(); err != nil {
		return err
	}

	undo.Add(s.wake.File.Close)
	err = errors.Join(
		s.poller.Add(s.pidfd, linux.PollIn, tagSessionShell),
		s.poller.Add(s.timer.File, linux.PollIn, tagSessionTimer),
		s.poller.Add(s.callTimer.File, linux.PollIn, tagSessionCallTimer),
		s.poller.Add(s.wake.File, linux.PollIn, tagSessionWake),
	)

	if s.listener != nil {
		if s.cell.Key.SharesFiles() {
			files := []*os.File{s.scratch.Root}
			if s.volume != nil {
				files = append(files, s.volume.AgentMount)
			}
			own, oerr := calls.OwnFilesOf(files...)
			s.own, err = own, errors.Join(err, oerr)
		}
		s.calls = calls.CallListener{Listener: s.listener, Poller: s.poller, Tag: tagSessionCalls, Timer: s.callTimer}
		s.calls.Budget.Start(linux.Monotonic())
		err = errors.Join(err, s.poller.Add(s.listener, linux.PollIn, tagSessionCalls))
	}

	return err
}
