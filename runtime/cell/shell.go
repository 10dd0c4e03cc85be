package cell

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

// A Shell is the environment of one run, made ahead and used once: a parked PID 1 of fresh pid,
// mount and ipc namespaces, a scratch file system, three pipes and an empty leaf group. The shell
// of a session's exec is a process in the session's namespaces, and its scratch is the session's.
type Shell struct {
	Cell      *Cell
	Pidfd     *os.File
	Sock      linux.Seqpacket
	Scratch   *Scratch
	Leaf      *groups.Leaf
	Clock     clock
	shared    bool // the scratch is a session's
	Requested bool // the request to make it was sent

	Stdin, Stdout, Stderr *os.File // our ends, non-blocking

	// Of a program with control, our ends of its descriptors 3 and 4; nil: it has none.
	ControlIn, ControlOut *os.File
}

// NewShell makes cellinit create a shell around leaf, with a scratch of the given size and inodes.
// On failure the leaf is still the caller's and nothing else is left.
func (c *Cell) NewShell(ctx context.Context, leaf *groups.Leaf, size api.Size, inodes int64) (_ *Shell, err error) {
	s := &Shell{Cell: c, Leaf: leaf, Clock: c.clock.Clock(0)}
	undo := rollback.On(&err)
	defer undo.Run()

	base := plan.SlotIDs(c.Slot)

	// What the shell will own is made by the agent, with the run's user as owner.
	if err := c.Step("shell scratch"); err != nil {
		return nil, err
	}
	if s.Scratch, err = NewScratch(size, inodes, base+plan.UID, base+plan.GID); err != nil {
		return nil, err
	}

	undo.Add(s.Scratch.Close)
	msg := wireSpawn{}
	if c.Key.FullProc {
		msg.Flags |= spawnFullProc
	}
	if c.Key.Install {
		msg.Flags |= spawnInstall
		if err := s.Scratch.makePackages(base+plan.UID, base+plan.GID); err != nil {
			return nil, err
		}
	}
	if c.Key.Network {
		msg.Flags |= spawnNetwork
	}
	if err := s.park(ctx, c.ctrl, msg); err != nil {
		return nil, err
	}

	undo.Release()
	return s, nil
}

// NewExecShell makes a shell for an exec in a session: the session's shell, at the other end of
// maker, makes it. scratch is the session's. If the error is no *StepError and the shell's Requested
// is true, the answer may still arrive, and maker must not be used again.
func (c *Cell) NewExecShell(ctx context.Context, maker linux.Seqpacket, leaf *groups.Leaf, scratch *Scratch,
	clockWord uint32) (*Shell, error) {
	s := &Shell{Cell: c, Leaf: leaf, Scratch: scratch, Clock: c.clock.Clock(clockWord), shared: true}
	return s, s.park(ctx, maker, wireSpawn{Flags: spawnExec, Clock: clockWord})
}

// park gives the shell its pipes and has its process cloned by maker: the socket of cellinit, or of
// a session's shell. On failure the shell has neither.
func (s *Shell) park(ctx context.Context, maker linux.Seqpacket, msg wireSpawn) (err error) {
	c := s.Cell
	undo := rollback.On(&err)
	defer undo.Run()

	base := plan.SlotIDs(c.Slot)
	if err := c.Step("shell pipes"); err != nil {
		return err
	}

	var theirs [3]*os.File
	for i, ours := range []**os.File{&s.Stdin, &s.Stdout, &s.Stderr} {
		if *ours, theirs[i], err = Pipe(i == 0, base+plan.UID, base+plan.GID); err != nil {
			return err
		}
		defer theirs[i].Close()
		undo.Add((*ours).Close)
	}

	sock, peer, err := linux.SeqpacketPair(false)
	if err != nil {
		return err
	}
	defer peer.Close()

	s.Sock = sock
	undo.Add(sock.Close)

	// The pidfd comes back. The shell mounts and parks by itself; if it cannot, the answer to its
	// start message reports that.
	if err := c.Step("shell clone"); err != nil {
		return err
	}

	files := []*os.File{peer, s.Scratch.Root, theirs[0], theirs[1], theirs[2]}
	msg.Magic, msg.Kind = wireMagic, kindSpawn
	if dir := s.Leaf.Dir(); dir != nil {
		msg.HasCgroup = 1
		files = append(files, dir)
	}

	joins := s.Leaf.JoinFiles()
	msg.Joins = uint32(len(joins))
	s.Requested = true
	if err := maker.Send(encode(&msg), append(files, joins...)...); err != nil {
		return err
	}

	_, pidfd, err := reply(ctx, maker, kindSpawned)
	if err != nil {
		return fmt.Errorf("cell %s: make shell: %w", c.Name, err)
	}

	s.Pidfd = pidfd
	undo.Release()
	return nil
}

// Start sends the one message that the shell waits for, with the file of a template if the program
// begins from one, and notes that no program was executed yet.
// A shell that has ended already has reported why; report reads that.
func (s *Shell) Start(msg []byte, files ...*os.File) error {
	s.Clock.reset()
	if err := s.Sock.Send(msg, files...); err != nil && !errors.Is(err, unix.EPIPE) {
		return err
	}
	return nil
}

// Report reads what the shell says about the program's end; ok is false if it has not said it yet.
// The error is a *StepError if a step of the start failed, and io.EOF if the shell has ended.
func (s *Shell) Report() (r Reply, ok bool, err error) {
	buf := make([]byte, ReplySize)
	_, err = linux.RecvOnce(linux.FD(s.Sock.File), buf)
	if errors.Is(err, unix.ECONNRESET) { // returned once, before the messages that are still in the socket
		_, err = linux.RecvOnce(linux.FD(s.Sock.File), buf)
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

// Kill ends the shell, and with it every process of its pid namespace. The shell of an exec is
// killed alone, because its namespace is the session's.
func (s *Shell) Kill() error {
	err := unix.PidfdSendSignal(linux.FD(s.Pidfd), unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil // it has ended by itself
	}
	return os.NewSyscallError("pidfd_send_signal", err)
}

// Expedite lets the killed processes of the leaf die at the kernel's usual speed. With a low weight
// next to neighbours that compute, a death takes minutes, and the slot is blocked as long (CPU-43).
// If that fails they die as slowly as they ran, and the leaf is in doubt.
func (s *Shell) Expedite() { _ = s.Leaf.Expedite() }

// KillGroup kills the processes of the leaf that the shell's end did not end. The leaf cannot be
// reused after that, so this is for rare cases. If the kernel cannot do it, they have the time that
// they had.
func (s *Shell) KillGroup() {
	if s.Leaf.Kill() == nil {
		s.Expedite()
	}
}

// Destroy kills the shell, waits until the kernel has taken its namespaces down, and closes the
// agent's handles, which frees the scratch of a run. The leaf remains.
func (s *Shell) Destroy() error {
	err := s.Kill()
	if werr := linux.WaitReadable(s.Pidfd, DestroyTimeout); werr != nil {
		err = errors.Join(err, fmt.Errorf("wait for the end of a shell: %w", werr))
	}
	return errors.Join(err, s.close())
}

func (s *Shell) close() error {
	var err error
	for _, f := range []*os.File{s.Pidfd, s.Stdin, s.Stdout, s.Stderr, s.ControlIn, s.ControlOut} {
		if f == nil {
			continue
		}
		if cerr := f.Close(); !errors.Is(cerr, os.ErrClosed) {
			err = errors.Join(err, cerr)
		}
	}
	err = errors.Join(err, s.Sock.Close())
	if !s.shared {
		err = errors.Join(err, s.Scratch.Close())
	}
	return err
}

// Pipe makes one of the run's streams: input is one that the program reads. The pipe belongs to the run's host uid, because
// otherwise the run could not reopen /dev/stdout. Those of the output are large: what node has not written into
// its pipe at process.exit() is lost. The pages are charged to the program that fills them.
func Pipe(input bool, uid, gid int) (ours, theirs *os.File, err error) {
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
	if !input {
		linux.EnlargePipe(ours)
	}
	return ours, theirs, nil
}

// KillProcesses ends every process of an exec.
func (s *Shell) KillProcesses(timeout time.Duration) error {
	if empty, err := s.Leaf.Empty(); err != nil || empty {
		return err
	}
	if err := s.Leaf.Kill(); err != nil {
		return err
	}
	s.Expedite()
	return WaitEmpty(s.Leaf, timeout)
}
