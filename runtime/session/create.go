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

// newSession builds a session: on a base that was made ahead, or on one that it makes. files is the snapshot with which
// it begins; nil: none. On failure nothing is left.
func (r *Registry) newSession(ctx context.Context, p *plan.Session, files *os.File, owner api.Caller) (_ *session, err error) {
	s := &session{
		registry: r, id: plan.NewID(), owner: owner, plan: p, born: linux.Monotonic(), made: time.Now(),
		done: make(chan struct{}), files: map[*os.File]struct{}{}, lists: newListQueue(maxSessionLists, maxSessionWaiting),
		pathWork: newListQueue(maxSessionPathWork, maxSessionPathWaiting),
		quotas:   run.NewQuotas(), programs: map[string]heldName{}, single: make(chan struct{}, 1),
	}

	s.ends = s.born + p.Life
	undo := rollback.On(&err)
	defer undo.Run()

	// 1. Its base, with the limits of everything that will run in it. Nobody knows the session yet.
	undo.Add(func() error {
		if s.base != nil {
			s.base.free()
		}
		return nil
	})
	if p.Ask.Volume == nil {
		err = r.findBase(ctx, s, undo)
	} else {
		err = r.makeBaseWithVolume(ctx, s, undo)
	}
	if err != nil {
		return nil, err
	}

	// 2. It begins with the files of a snapshot. No program is there yet.
	if files != nil {
		if err := r.runner.Pool.Factory.Step("session snapshot"); err != nil {
			return nil, err
		}
		if err := s.restore(ctx, files, false); err != nil {
			return nil, err
		}
	}

	// 3. The agent receives events of the session.
	if err := r.runner.Pool.Factory.Step("session watch"); err != nil {
		return nil, err
	}
	if err := errors.Join(s.openEvents(undo), s.idRange.built()); err != nil {
		return nil, err
	}

	s.over, s.stop = context.WithCancel(context.Background())
	s.used = linux.Monotonic()
	undo.Release()
	return s, nil
}

// findBase gives a session a base: one that was made ahead, else one that it makes. undo gets what undoes it.
func (r *Registry) findBase(ctx context.Context, s *session, undo *rollback.Steps) error {
	factory := r.runner.Pool.Factory
	want, err := factory.Plan(s.plan.Cell) // also for one made ahead: the image may be damaged by now
	if err != nil {
		return err
	}

	size := scratchOf(s.plan)
	if made := r.ahead.take(ctx, want.Key); made != nil {
		s.base = made
		undo.Add(s.base.close)
		return errors.Join(s.scratch.Resize(size.Size, size.Inodes), s.limit())
	}

	defer factory.AcquireBuilder()()
	if err := r.buildBase(ctx, s, want, undo); err != nil {
		return err
	}
	return s.makeShell(ctx, nil)
}

// buildBase gives a session a base without a shell. undo gets what undoes it. The caller has acquired a builder.
func (r *Registry) buildBase(ctx context.Context, s *session, want cell.Plan, undo *rollback.Steps) (err error) {
	if s.base == nil {
		made, err := r.newBase()
		if err != nil {
			return err
		}
		s.base = made
	}
	if err := s.base.build(ctx, want, scratchOf(s.plan)); err != nil {
		return err
	}
	undo.Add(s.base.close)
	return s.limit()
}

// scratchOf is the size of the scratch of a session.
func scratchOf(p *plan.Session) cell.ScratchSize {
	return cell.ScratchSize{Size: p.Limits.Scratch, Inodes: p.Limits.Inodes}
}

// makeBaseWithVolume makes the base of a session with a volume, which is a part of its shell: so none is made ahead.
// undo gets what undoes it.
func (r *Registry) makeBaseWithVolume(ctx context.Context, s *session, undo *rollback.Steps) (err error) {
	factory := r.runner.Pool.Factory
	if err := r.Volumes.CheckFree(s.plan, s.owner); err != nil {
		return err
	}

	// 1. The volume is mounted, or made, in the background: that takes as long as a cell.
	made, err := r.newBase()
	if err != nil {
		return err
	}

	s.base = made
	done := make(chan error, 1)
	go func() { done <- r.mountVolume(ctx, s) }()
	volumeReady := sync.OnceValue(func() error { return <-done })
	undo.Add(func() error {
		_ = volumeReady() // its error, if any, is reported already, or is not the first
		if s.volume == nil {
			return nil
		}
		return s.volume.Close()
	})

	// 2. The cell and the group.
	releaseBuilder := sync.OnceFunc(factory.AcquireBuilder())
	defer releaseBuilder()
	want, err := factory.Plan(s.plan.Cell)
	if err != nil {
		return err
	}
	if err := r.buildBase(ctx, s, want, undo); err != nil {
		return err
	}

	// 3. The shell has mounted scratch and volume and reports that.
	releaseBuilder() // a session that waits for a volume, which another one is leaving, does not keep others from building a cell
	if err := volumeReady(); err != nil {
		return err
	}
	if err := s.boundVolume(r.Volumes.Rate); err != nil {
		return fmt.Errorf("rate of the volume: %w", err)
	}
	if err := s.makeShell(ctx, s.volume.SessionMount); err != nil {
		return err
	}
	return s.volume.CloseSessionMount()
}

// limit applies the limits of everything that will run in the session.
func (s *session) limit() error {
	if err := errors.Join(s.group.Apply(cell.GroupLimits(s.plan.Limits, "")), s.group.Begin()); err != nil {
		return fmt.Errorf("limits of the session: %w", err)
	}
	return nil
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

// openEvents makes the poller, alarms and wake event that handleEvents waits with.
func (s *session) openEvents(undo *rollback.Steps) (err error) {
	if s.poller, err = linux.NewPoller(); err != nil {
		return err
	}

	undo.Add(s.poller.Close)
	if s.wake, err = linux.NewEventfd(); err != nil {
		return err
	}

	undo.Add(s.wake.File.Close)
	s.lifetimes, s.callAlarm = newAlarm(s.wakeUp), newAlarm(s.wakeUp)
	err = errors.Join(
		s.poller.Add(s.pidfd, linux.PollIn, tagSessionShell),
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
		s.calls = calls.CallListener{Listener: s.listener, Poller: s.poller, Tag: tagSessionCalls, Timer: s.callAlarm}
		s.calls.Budget.Start(linux.Monotonic())
		err = errors.Join(err, s.poller.Add(s.listener, linux.PollIn, tagSessionCalls))
	}

	return err
}
