package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/brig-sandbox/brig/api"
)

// A Terminal is the one at which somebody types, while a program in the sandbox has it.
type Terminal struct {
	file   *os.File
	screen *Screen     // what the program writes to
	old    *term.State // before it was raw; nil: it is not

	sizes   chan api.TTY
	changed chan os.Signal
	over    chan struct{}
	watcher sync.WaitGroup

	reading    sync.Mutex // held by who reads the terminal
	ended, end *os.File   // a pipe: end is closed when the program gets nothing any more
}

// OpenTerminal takes the terminal that is stdin, for a program that writes to screen. Close gives it back.
func OpenTerminal(stdin io.Reader, screen *Screen) (*Terminal, error) {
	file, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, fmt.Errorf("-t needs a terminal as stdin: leave -t out where stdin is a file or a pipe")
	}
	ended, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}

	t := &Terminal{file: file, screen: screen, ended: ended, end: end,
		sizes: make(chan api.TTY), changed: make(chan os.Signal, 1), over: make(chan struct{})}
	signal.Notify(t.changed, unix.SIGWINCH)
	t.watcher.Go(t.watch)
	return t, nil
}

// watch passes on each new size.
func (t *Terminal) watch() {
	for {
		select {
		case <-t.over:
			return
		case <-t.changed:
		}
		select {
		case <-t.over:
			return
		case t.sizes <- t.Size():
		}
	}
}

// Size is the present size; zero if the terminal has none.
func (t *Terminal) Size() api.TTY {
	cols, rows, err := term.GetSize(int(t.file.Fd()))
	if err != nil {
		return api.TTY{}
	}
	return api.TTY{Rows: min(max(rows, 0), api.MaxTTY), Cols: min(max(cols, 0), api.MaxTTY)}
}

// Sizes are the sizes that it gets.
func (t *Terminal) Sizes() <-chan api.TTY { return t.sizes }

// MakeRaw leaves echo, editing and Ctrl-C to the terminal of the program in the sandbox.
func (t *Terminal) MakeRaw() error {
	old, err := term.MakeRaw(int(t.file.Fd()))
	if err == nil {
		t.old = old
	}
	return err
}

// Read reads what is typed, until Close begins.
func (t *Terminal) Read(p []byte) (int, error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	select {
	case <-t.over: // the pipe may be closed
		return 0, io.EOF
	default:
	}

	fds := []unix.PollFd{{Fd: int32(t.file.Fd()), Events: unix.POLLIN}, {Fd: int32(t.ended.Fd()), Events: unix.POLLIN}}
	if err := poll(fds, -1); err != nil {
		return 0, err
	}
	if fds[1].Revents != 0 {
		return 0, io.EOF
	}
	return t.file.Read(p)
}

// poll waits for one of several files, for that many ms; with -1 without end.
func poll(fds []unix.PollFd, ms int) error {
	for {
		if _, err := unix.Poll(fds, ms); err != unix.EINTR { //nolint:errorlint // as it comes from the kernel
			return os.NewSyscallError("poll", err)
		}
	}
}

// Close gives the terminal back as it was, and makes it show what follows as text. What was typed for the program, and
// what the terminal itself answers to an escape sequence of it (its position, its title), must not arrive at the
// caller's shell as a command: it is dropped, also if it is still on its way (TTY-05).
func (t *Terminal) Close() error {
	signal.Stop(t.changed)
	close(t.over)
	t.watcher.Wait()

	t.end.Close()
	t.reading.Lock() // the reader of the program's stdin has left
	defer t.reading.Unlock()
	defer t.ended.Close()

	asked := t.screen.End()
	if t.old == nil {
		return nil
	}
	var err error
	if asked != nil {
		err = dropAnswers(t.file, asked)
	}

	fd := int(t.file.Fd())
	flushed := os.NewSyscallError("ioctl TCFLSH", unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH))
	return errors.Join(err, flushed, term.Restore(fd, t.old))
}
