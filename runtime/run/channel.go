package run

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A channel is the two pipes between an interactor and one program. Those of a program that talks over its
// stdin and stdout are its shell's.
type channel struct {
	toProgram, fromProgram *os.File // the agent's ends, of what the program reads and of what it writes
	unread                 *os.File // another read end of toProgram
	kept                   *os.File // the agent's write end of fromProgram; nil: the shell has it
	own                    []*os.File

	inHandle, outHandle *os.File // of what the program reads, and of what it writes; nil: nobody opens them by name
}

func newChannel(sh *cell.Shell, how linking) (_ *channel, err error) {
	c := &channel{toProgram: sh.Stdin, fromProgram: sh.Stdout}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()

	if how.byName {
		if err := c.makePipes(); err != nil {
			return nil, err
		}
	}

	for _, f := range []*os.File{c.toProgram, c.fromProgram} {
		// The ends may be the interactor's stdin and stdout: it expects reads and writes that wait.
		if err := unix.SetNonblock(linux.FD(f), false); err != nil {
			return nil, os.NewSyscallError("set a pipe to blocking", err)
		}
		linux.EnlargePipe(f)
	}

	if c.unread, err = c.reopen(c.toProgram, unix.O_RDONLY|unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	if !how.manager {
		return c, nil
	}
	if c.inHandle, err = c.handle(c.toProgram); err != nil {
		return nil, err
	}

	c.outHandle, err = c.handle(c.fromProgram)
	return c, err
}

// makePipes makes pipes for a program whose stdin and stdout are not those of the channel.
func (c *channel) makePipes() error {
	for _, ends := range [][2]**os.File{{nil, &c.toProgram}, {&c.fromProgram, &c.kept}} {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return os.NewSyscallError("pipe2", err)
		}
		for i, end := range ends {
			f := os.NewFile(uintptr(p[i]), "pipe")
			c.own = append(c.own, f)
			if end != nil {
				*end = f
			}
		}
	}

	return nil
}

// reopen opens the pipe of an end once more.
func (c *channel) reopen(f *os.File, flags int) (*os.File, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", linux.FD(f)), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open a pipe again", err)
	}
	again := os.NewFile(uintptr(fd), "pipe")
	c.own = append(c.own, again)
	return again, nil
}

// handle makes a descriptor that names the pipe of an end, and is no end itself: a program that has it opens the
// pipe by /proc/self/fd, and closes it, as it would a FIFO. Others do not find the pipe. Both sides may open it
// for both directions, because their users differ: a program that writes to what it reads itself, or reads what
// it has written, deceives nobody (GRD-25).
//
// The pipe is the agent's from then on. Those of a shell belong to the program, whose fchmod of its own stdout
// would keep the manager from opening it: the program's failure would be an error of the manager's
// (TestHostileOwnersOfPipes).
func (c *channel) handle(f *os.File) (*os.File, error) {
	if err := errors.Join(unix.Fchown(linux.FD(f), os.Geteuid(), os.Getegid()),
		unix.Fchmod(linux.FD(f), 0o666)); err != nil {
		return nil, fmt.Errorf("make a pipe the agent's: %w", err)
	}
	return c.reopen(f, unix.O_PATH)
}

// programOver closes what keeps the interactor waiting, when the last process of the program has ended.
func (c *channel) programOver(sh *cell.Shell) error {
	if c.kept == nil {
		return sh.Kill() // it has a copy of the end
	}
	return c.kept.Close()
}

// close closes all but the ends of the shell. An end that was closed before is none of its errors.
func (c *channel) close() (err error) {
	for _, f := range c.own {
		if e := f.Close(); !errors.Is(e, os.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}
