package cli

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// openPair opens a pseudo terminal of 33 rows of 99 columns: the test types at its master.
func openPair(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })

	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 99}); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// The caller's terminal is given back as it was, and what arrives at it for the program, typed or as the answer to an
// escape sequence, does not reach what reads it next (TTY-05). The control is what arrives after that.
func TestTerminalIsGivenBack(t *testing.T) {
	master, slave := openPair(t)
	fd := int(slave.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}

	terminal, err := OpenTerminal(slave, new(Screen))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := terminal.Size(), (api.TTY{Rows: 33, Cols: 99}); got != want {
		t.Errorf("size %+v; want %+v", got, want)
	}
	if err := terminal.MakeRaw(); err != nil {
		t.Fatal(err)
	}
	if _, err := master.WriteString("\x1b]l;rm -r .\x1b\\\r"); err != nil {
		t.Fatal(err)
	}
	arrived := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // the kernel passes it on in a thread of its own
	if n, err := unix.Poll(arrived, 60_000); err != nil || n == 0 {
		t.Fatalf("%d (%v): nothing arrived", n, err)
	}
	if err := terminal.Close(); err != nil {
		t.Fatal(err)
	}

	after, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal has the modes %+v (%v); want %+v", after, err, before)
	}
	if _, err := master.WriteString("next\n"); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := slave.Read(line)
	if err != nil || string(line[:n]) != "next\n" {
		t.Errorf("the next reader gets %q (%v); want what was typed after the program", line[:n], err)
	}
}

// Answers that are on their way when a program ends do not reach what reads the terminal next, either (TTY-05). The
// terminal of this test answers a question only after that of brig, which is its last.
func TestLateAnswersAreDropped(t *testing.T) {
	const kind = "\x1b[c"
	for name, answers := range map[string]string{
		"a position":                  "\x1b[1;1R" + "\x1b[?6c",
		"a title with a command":      "\x1b]l;rm -r .\x1b\\\r" + "\x1b[?62;1;4c",
		"the kind, asked by both":     "\x1b[?6c" + "\x1b[1;1R\x1b[?6c",
		"more than one read can take": strings.Repeat("\x1b[24;80R", 3000) + "\x1b[?6c",
	} {
		master, slave := openPair(t)
		screen := (&CLI{Stdin: slave, Stdout: slave, Stderr: slave}).Screen()
		terminal, err := OpenTerminal(slave, screen)
		if err != nil {
			t.Fatal(err)
		}
		if err := terminal.MakeRaw(); err != nil {
			t.Fatal(err)
		}
		stdin := make(chan error)
		go func() { // the program's stdin; joined below
			_, err := io.Copy(io.Discard, terminal)
			stdin <- err
		}()
		if _, err := io.WriteString(screen.Stdout(), "\x1b[6n\x1b[21t\x1b[c\x1b]0;"); err != nil {
			t.Fatal(err)
		}

		answered := make(chan error)
		go func() { // the terminal; joined below
			var seen []byte
			buf := make([]byte, 100)
			for strings.Count(string(seen), kind) < 2 {
				n, err := master.Read(buf)
				if err != nil {
					answered <- err
					return
				}
				seen = append(seen, buf[:n]...)
			}
			_, err := io.WriteString(master, answers)
			answered <- err
		}()
		if err := terminal.Close(); err != nil {
			t.Error(name, err)
		}
		if err := errors.Join(<-stdin, <-answered); err != nil {
			t.Error(name, err)
		}

		if _, err := master.WriteString("next\n"); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 100)
		if n, err := slave.Read(line); err != nil || string(line[:n]) != "next\n" {
			t.Errorf("%s: the next reader gets %q (%v); want what was typed after the program", name, line[:n], err)
		}
	}
}

// A terminal that answers nothing, and one that answers without end, are given back, too.
func TestTerminalsThatDoNotAnswer(t *testing.T) {
	for name, answers := range map[string]string{"nothing": "", "without end": strings.Repeat("\x1b[1;1R", 100)} {
		master, slave := openPair(t)
		screen := (&CLI{Stdin: slave, Stdout: slave, Stderr: slave}).Screen()
		terminal, err := OpenTerminal(slave, screen)
		if err != nil {
			t.Fatal(err)
		}
		if err := terminal.MakeRaw(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(screen.Stdout(), "\x1b[6n"); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error)
		go func() { closed <- terminal.Close() }() // joined below
		for typing := true; typing; {
			select {
			case err := <-closed:
				typing = false
				if err != nil {
					t.Error(name, err)
				}
			case <-time.After(time.Millisecond):
				if _, err := io.WriteString(master, answers); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// What is no terminal is refused, with the cure.
func TestNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := OpenTerminal(null, new(Screen)); err == nil || !strings.Contains(err.Error(), "leave -t out") {
		t.Error(err)
	}
	if _, err := OpenTerminal(strings.NewReader(""), new(Screen)); errors.Unwrap(err) != nil || err == nil {
		t.Error(err)
	}
}
