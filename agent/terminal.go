package agent

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// isTerminal reports whether stdin of a program is the master of a terminal.
func isTerminal(stdin *os.File) bool {
	_, err := winsize(stdin)
	return err == nil
}

func winsize(f *os.File) (size *unix.Winsize, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	cerr := raw.Control(func(fd uintptr) { size, err = unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ) })
	return size, errors.Join(cerr, err)
}

// resize gives a terminal the size that a frame says. The kernel tells the program by SIGWINCH.
func resize(master *os.File, payload []byte) error {
	t, err := decode.Value[api.TTY](payload, "resize")
	if err != nil {
		return err
	}
	if err := t.Validate(); err != nil {
		return err
	}

	raw, err := master.SyscallConn()
	if err != nil {
		return err
	}
	rows, cols := t.Size()
	size := &unix.Winsize{Row: uint16(rows), Col: uint16(cols)}
	cerr := raw.Control(func(fd uintptr) { err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
	return errors.Join(cerr, err)
}
