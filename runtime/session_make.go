package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// newSession builds one: a cell, its group, its world. On failure nothing is left.
func (h *Host) newSession(ctx context.Context, p *sessionPlan, at *seat, owner Caller) (_ *session, err error) {
	s := &session{
		host: h, id: runID(), owner: owner, plan: p, seat: at, born: monotonic(), made: time.Now(),
		done: make(chan struct{}), files: map[*os.File]struct{}{}, lists: newListTurns(sessionLists, sessionWaiting),
	}
	undo := undoing(&err)
	defer undo.run()

	// 1. Its volume is being mounted, or made, meanwhile: that takes as long as a cell.
	furnished := func() error { return nil }
	if p.ask.Volume != nil {
		if err := h.volumes.free(p, owner); err != nil {
			return nil, err
		}
		done := make(chan error, 1)
		go func() { done <- h.furnishVolume(ctx, s) }()
		furnished = sync.OnceValue(func() error { return <-done })
		undo.add(func() error {
			_ = furnished() // its failure, if it is one, is told already, or not the first
			if s.volume == nil {
				return nil
			}
			return s.volume.Close()
		})
	}
	h.builders <- struct{}{}
	built := sync.OnceFunc(func() { <-h.builders })
	defer built()

	// 2. A cell that no run has.
	cell := p.cell
	cell.name, cell.slot, cell.ids = fmt.Sprintf("session-%d", h.serial.Add(1)), at.index, &at.ids
	if s.cell, err = h.newCell(ctx, cell); err != nil {
		return nil, err
	}
	undo.add(func() error { return s.cell.Close() })
	s.listener, s.cell.listener = s.cell.listener, nil
	if s.listener != nil {
		undo.add(s.listener.Close)
	}

	// 3. The group of everything that will run in it stands beside the cell's own
	// processes: those are not charged, and no program can make the kernel choose them.
	if err := h.step("session group"); err != nil {
		return nil, err
	}
	if s.group, err = s.cell.group.NewBranch("execs"); err != nil {
		return nil, err
	}
	undo.add(func() error { return s.group.Close() })
	if err := errors.Join(s.group.Apply(groupLimits(p.limits, "")), s.group.Begin()); err != nil {
		return nil, fmt.Errorf("limits of the session: %w", err)
	}

	// 4. The shell has hung in scratch and volume and says so.
	if err := h.step("session shell"); err != nil {
		return nil, err
	}
	base := slotIDs(at.index)
	if s.scratch, err = newScratch(p.limits.Scratch, p.limits.Inodes, base+runUID, base+runGID); err != nil {
		return nil, err
	}
	undo.add(s.scratch.Close)
	built() // who waits for a volume that another session leaves keeps nobody from a cell
	if err := furnished(); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, fmt.Errorf("cell %s: make the session's shell: %w", s.cell.name, err)
	}
	undo.add(s.sock.Close)
	undo.add(s.pidfd.Close)

	// 5. We hear what happens.
	if err := h.step("session watch"); err != nil {
		return nil, err
	}
	if err := s.listen(undo); err != nil {
		return nil, err
	}
	s.over, s.stop = context.WithCancel(context.Background())
	s.used = monotonic()
	undo.release()
	return s, nil
}

// furnishVolume gives a session its volume, and sees to it that the image has a place
// to hang it.
func (h *Host) furnishVolume(ctx context.Context, s *session) (err error) {
	if err := h.step("session volume"); err != nil {
		return err
	}
	err = h.cfg.Images.Workspace(s.plan.image.Digest)
	if errors.Is(err, rootfs.ErrNoWorkspace) {
		return api.Refuse(api.CodeBadImage, "%w", err)
	}
	if err != nil {
		return err
	}
	userns, err := s.seat.ids.forImage(slotIDs(s.seat.index))
	if err == nil {
		s.volume, err = h.volumes.mount(ctx, s.plan, s.id, s.owner, userns)
	}
	return err
}

// settle has cellinit make the session's shell, and waits until its world stands.
func (s *session) settle(ctx context.Context) (err error) {
	undo := undoing(&err)
	defer undo.run()
	sock, peer, err := seqpacketPair(true)
	if err != nil {
		return err
	}
	defer peer.Close()
	s.sock = sock
	undo.add(sock.Close)
	msg := wireSpawn{Magic: wireMagic, Kind: kindSpawn, Flags: spawnSession}
	if s.cell.key.fullProc {
		msg.Flags |= spawnFullProc
	}
	files := []*os.File{peer, s.scratch.root}
	if s.volume != nil {
		msg.Flags |= spawnVolume
		files = append(files, s.volume.theirs)
	}
	if err := s.cell.ctrl.send(encode(&msg), files...); err != nil {
		return err
	}
	_, pidfd, err := s.cell.ctrl.reply(ctx, kindSpawned)
	if err != nil {
		return err
	}
	s.pidfd = pidfd
	undo.add(pidfd.Close)
	if err := peer.Close(); err != nil { // or we would not hear of its end
		return err
	}
	if _, _, err := s.sock.reply(ctx, kindReady); err != nil {
		return err
	}
	if s.volume != nil {
		if err := s.volume.handOver(); err != nil {
			return err
		}
	}
	undo.release()
	return nil
}

// listen makes what attend waits with.
func (s *session) listen(undo *undos) (err error) {
	if s.poller, err = newPoller(); err != nil {
		return err
	}
	undo.add(s.poller.Close)
	if s.timer, err = newTimer(); err != nil {
		return err
	}
	undo.add(s.timer.file.Close)
	if s.pace, err = newTimer(); err != nil {
		return err
	}
	undo.add(s.pace.file.Close)
	if s.wake, err = newEventfd(); err != nil {
		return err
	}
	undo.add(s.wake.file.Close)
	err = errors.Join(
		s.poller.add(s.pidfd, pollIn, tagSessionShell),
		s.poller.add(s.timer.file, pollIn, tagSessionTimer),
		s.poller.add(s.pace.file, pollIn, tagSessionPace),
		s.poller.add(s.wake.file, pollIn, tagSessionWake),
	)
	if s.listener != nil {
		s.locks.calls = lockBatch
		if s.cell.key.sharesFiles() {
			files := []*os.File{s.scratch.root}
			if s.volume != nil {
				files = append(files, s.volume.ours)
			}
			own, oerr := ownFilesOf(files...)
			s.own, err = own, errors.Join(err, oerr)
		}
		s.calls = listening{listener: s.listener, poller: s.poller, tag: tagSessionCalls, timer: s.pace}
		s.calls.pace.start(monotonic())
		err = errors.Join(err, s.poller.add(s.listener, pollIn, tagSessionCalls))
	}
	return err
}
