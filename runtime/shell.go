package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A shell is the environment of one run, made ahead and used once: a parked PID 1 of fresh pid,
// mount and ipc namespaces, a scratch file system, three pipes and an empty leaf group. The shell
// of a session's exec is a process in the session's namespaces, and its scratch is the session's.
type shell struct {
	cell      *cell
	pidfd     *os.File
	sock      seqpacket
	scratch   *scratch
	leaf      *groups.Leaf
	clock     clock
	shared    bool // the scratch is a session's
	requested bool // the request to make it was sent

	stdin, stdout, stderr *os.File // our ends, non-blocking
}

// newShell makes cellinit create a shell around leaf, with a scratch of the given size and inodes.
// On failure the leaf is still the caller's and nothing else is left.
func (c *cell) newShell(ctx context.Context, leaf *groups.Leaf, size api.Size, inodes int64) (_ *shell, err error) {
	s := &shell{cell: c, leaf: leaf, clock: c.clock.clock(0)}
	undo := rollback.On(&err)
	defer undo.Run()
	base := plan.SlotIDs(c.slot)

	// What the shell will own is made by the agent, with the run's user as owner.
	if err := c.step("shell scratch"); err != nil {
		return nil, err
	}
	if s.scratch, err = newScratch(size, inodes, base+plan.UID, base+plan.GID); err != nil {
		return nil, err
	}
	undo.Add(s.scratch.Close)
	msg := wireSpawn{}
	if c.key.FullProc {
		msg.Flags |= spawnFullProc
	}
	if err := s.park(ctx, c.ctrl, msg); err != nil {
		return nil, err
	}
	undo.Release()
	return s, nil
}

// newExecShell makes a shell for an exec in a session: the session's shell, at the other end of
// maker, makes it. scratch is the session's. If the error is no *StepError and the shell's Requested
// is true, the answer may still arrive, and maker must not be used again.
func (c *cell) newExecShell(ctx context.Context, maker seqpacket, leaf *groups.Leaf, scratch *scratch, clockWord uint32) (*shell, error) {
	s := &shell{cell: c, leaf: leaf, scratch: scratch, clock: c.clock.clock(clockWord), shared: true}
	return s, s.park(ctx, maker, wireSpawn{Flags: spawnExec, Clock: clockWord})
}

// park gives the shell its pipes and has its process cloned by maker: the socket of cellinit, or of
// a session's shell. On failure the shell has neither.
func (s *shell) park(ctx context.Context, maker seqpacket, msg wireSpawn) (err error) {
	c := s.cell
	undo := rollback.On(&err)
	defer undo.Run()
	base := plan.SlotIDs(c.slot)
	if err := c.step("shell pipes"); err != nil {
		return err
	}
	var theirs [3]*os.File
	for i, ours := range []**os.File{&s.stdin, &s.stdout, &s.stderr} {
		if *ours, theirs[i], err = stdioPipe(i == 0, base+plan.UID, base+plan.GID); err != nil {
			return err
		}
		defer theirs[i].Close()
		undo.Add((*ours).Close)
	}
	sock, peer, err := seqpacketPair(false)
	if err != nil {
		return err
	}
	defer peer.Close()
	s.sock = sock
	undo.Add(sock.Close)

	// The pidfd comes back. The shell mounts and parks by itself; if it cannot, the answer to its
	// start message reports that.
	if err := c.step("shell clone"); err != nil {
		return err
	}
	files := []*os.File{peer, s.scratch.root, theirs[0], theirs[1], theirs[2]}
	msg.Magic, msg.Kind = wireMagic, kindSpawn
	if dir := s.leaf.Dir(); dir != nil {
		msg.HasCgroup = 1
		files = append(files, dir)
	}
	joins := s.leaf.JoinFiles()
	msg.Joins = uint32(len(joins))
	s.requested = true
	if err := maker.send(encode(&msg), append(files, joins...)...); err != nil {
		return err
	}
	_, pidfd, err := reply(ctx, maker, kindSpawned)
	if err != nil {
		return fmt.Errorf("cell %s: make shell: %w", c.name, err)
	}
	s.pidfd = pidfd
	undo.Release()
	return nil
}

// start sends the one message that the shell waits for, and notes that no program was executed yet.
// A shell that has ended already has reported why; report reads that.
func (s *shell) start(msg []byte) error {
	s.clock.reset()
	if err := s.sock.send(msg); err != nil && !errors.Is(err, unix.EPIPE) {
		return err
	}
	return nil
}

// report reads what the shell says about the program's end; ok is false if it has not said it yet.
// The error is a *StepError if a step of the start failed, and io.EOF if the shell has ended.
func (s *shell) report() (r wireReply, ok bool, err error) {
	buf := make([]byte, wireReplySize)
	_, err = recvOnce(linux.FD(s.sock.file), buf)
	if errors.Is(err, unix.ECONNRESET) { // returned once, before the messages that are still in the socket
		_, err = recvOnce(linux.FD(s.sock.file), buf)
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		return r, false, nil
	case errors.Is(err, unix.ECONNRESET):
		return r, false, io.EOF
	case err != nil:
		return r, false, err
	}
	r, err = decodeReply(buf, kindExited)
	return r, err == nil, err
}

// kill ends the shell, and with it every process of its pid namespace. The shell of an exec is
// killed alone, because its namespace is the session's.
func (s *shell) kill() error {
	err := unix.PidfdSendSignal(linux.FD(s.pidfd), unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended by itself
	}
	return os.NewSyscallError("pidfd_send_signal", err)
}

// expedite lets the killed processes of the leaf die at the kernel's usual speed. With a low weight
// next to neighbours that compute, a death takes minutes, and the slot is blocked as long (CPU-43).
// If that fails they die as slowly as they ran, and the leaf is in doubt.
func (s *shell) expedite() { _ = s.leaf.Expedite() }

// killGroup kills the processes of the leaf that the shell's end did not end. The leaf cannot be
// reused after that, so this is for rare cases. If the kernel cannot do it, they have the time that
// they had.
func (s *shell) killGroup() {
	if s.leaf.Kill() == nil {
		s.expedite()
	}
}

// destroy kills the shell, waits until the kernel has taken its namespaces down, and closes the
// agent's handles, which frees the scratch of a run. The leaf remains.
func (s *shell) destroy() error {
	err := s.kill()
	if werr := waitReadable(s.pidfd, destroyTimeout); werr != nil {
		err = errors.Join(err, fmt.Errorf("wait for the end of a shell: %w", werr))
	}
	return errors.Join(err, s.close())
}

func (s *shell) close() error {
	var err error
	for _, f := range []*os.File{s.pidfd, s.stdin, s.stdout, s.stderr} {
		if cerr := f.Close(); !errors.Is(cerr, os.ErrClosed) {
			err = errors.Join(err, cerr)
		}
	}
	err = errors.Join(err, s.sock.Close())
	if !s.shared {
		err = errors.Join(err, s.scratch.Close())
	}
	return err
}

// stdioPipe makes one of the run's streams. The pipe belongs to the run's host uid, because
// otherwise the run could not reopen /dev/stdout.
func stdioPipe(input bool, uid, gid int) (ours, theirs *os.File, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	r, w := os.NewFile(uintptr(p[0]), "pipe"), os.NewFile(uintptr(p[1]), "pipe")
	ours, theirs = r, w
	if input {
		ours, theirs = w, r
	}
	if err := errors.Join(unix.Fchown(linux.FD(theirs), uid, gid), unix.SetNonblock(linux.FD(ours), true)); err != nil {
		return nil, nil, errors.Join(err, r.Close(), w.Close())
	}
	return ours, theirs, nil
}

// killProcesses ends every process of an exec.
func (s *shell) killProcesses(timeout time.Duration) error {
	if empty, err := s.leaf.Empty(); err != nil || empty {
		return err
	}
	if err := s.leaf.Kill(); err != nil {
		return err
	}
	s.expedite()
	return waitEmpty(s.leaf, timeout)
}
