package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/grade"
)

// A Progress reports on stderr that work is under way: on a terminal in one line, every second;
// elsewhere every ten seconds. The first report comes after one interval.
type Progress struct {
	stop chan struct{}
	last atomic.Pointer[string] // what is printed after the last report
	wg   sync.WaitGroup
	now  atomic.Pointer[progressState] // nil: not known
}

// A progressState is how far the work is.
type progressState struct {
	step        string // empty: not known
	done, total int64  // for a bar on a terminal; total is zero if it is not known
}

// SetStep sets the current step.
func (p *Progress) SetStep(step string) { p.now.Store(&progressState{step: step}) }

// SetCount sets the current step, and how much of all is done.
func (p *Progress) SetCount(step string, done, total int64) {
	p.now.Store(&progressState{step, done, total})
}

// Progress shows what a command does, until it ends or vanishes.
func (c *CLI) Progress(what string) *Progress {
	p := &Progress{stop: make(chan struct{})}
	every := 10 * time.Second
	onTerminal := IsTerminal(c.Stderr)
	if onTerminal {
		every = time.Second
	}

	if c.quiet {
		return p
	}

	began := time.Now()
	p.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()

		printed := false
		for {
			select {
			case <-tick.C:
				line := p.line(what, time.Since(began), onTerminal)
				if onTerminal {
					line = "\r" + fitted(line, TerminalWidth(c.Stderr)) + "\x1b[K"
				} else {
					line += "\n"
				}
				fmt.Fprint(c.Stderr, line)
				printed = true

			case <-p.stop:
				if printed && onTerminal {
					fmt.Fprint(c.Stderr, *p.last.Load())
				}
				return
			}
		}
	})

	return p
}

// line is a report.
func (p *Progress) line(what string, took time.Duration, bar bool) string {
	state := took.Round(time.Second).String()
	if now := p.now.Load(); now != nil {
		if bar && now.total > 0 {
			state += ", " + now.bar()
		}
		if now.step != "" {
			state += ", " + now.step
		}
	}
	return fmt.Sprintf("brig: %s: %s", terminal.OneLine(what), terminal.OneLine(state))
}

// bar shows how much of all is done.
func (s progressState) bar() string {
	const columns = 20
	done := min(s.done, s.total)
	full := int(columns * done / s.total)
	return fmt.Sprintf("%d%% |%s%s|", 100*done/s.total, strings.Repeat("█", full), strings.Repeat(" ", columns-full))
}

// fitted is a line that a terminal of so many columns does not break: it would begin a new one at each report. Zero
// columns are not known.
func fitted(line string, columns int) string {
	if columns <= 0 {
		return line
	}
	return grade.CutToWidth(line, max(columns-1, 1))
}

// Vanish ends it, and erases its line on a terminal.
func (p *Progress) Vanish() { p.endWith("\r\x1b[K") }

// End ends the line, and leaves it.
func (p *Progress) End() { p.endWith("\n") }

func (p *Progress) endWith(last string) {
	p.last.Store(&last)
	close(p.stop)
	p.wg.Wait()
}

// Transfer reports how much has been read from what it returns. in is read to its end.
func (c *CLI) Transfer(what string, in io.Reader) (_ io.Reader, end func()) {
	n := &byteCount{shown: c.Progress(what), began: time.Now()}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			n.size = info.Size()
		}
	}
	return io.TeeReader(in, n), n.shown.Vanish
}

// A byteCount shows how many bytes have been written to it.
type byteCount struct {
	shown      *Progress
	began      time.Time
	done, size int64 // size is zero if it is not known
}

func (n *byteCount) Write(p []byte) (int, error) {
	n.done += int64(len(p))
	step := FormatSize(n.done)
	if n.size > 0 {
		step += " of " + FormatSize(n.size)
	}
	if took := time.Since(n.began).Seconds(); took > 0 {
		step += ", " + FormatSize(int64(float64(n.done)/took)) + "/s"
	}
	n.shown.SetCount(step, n.done, n.size)
	return len(p), nil
}

// IsTerminal reports whether w is a terminal. Other devices, such as /dev/null, are not.
func IsTerminal(w any) bool {
	f, ok := Underlying(w).(*os.File)
	if !ok {
		return false
	}
	raw, err := f.SyscallConn() // Fd would make it blocking
	if err != nil {
		return false
	}
	var unasked error
	err = raw.Control(func(fd uintptr) { _, unasked = unix.IoctlGetTermios(int(fd), unix.TCGETS) })
	return err == nil && unasked == nil
}

// FormatSize formats a size for people.
func FormatSize(n int64) string { return FormatBytes(api.Known(n, "")) }

// TerminalWidth is the number of columns of a terminal; zero if w is none.
func TerminalWidth(w any) int {
	f, ok := Underlying(w).(*os.File)
	if !ok || !IsTerminal(w) {
		return 0
	}

	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}

	width := 0
	_ = raw.Control(func(fd uintptr) { // a terminal that has gone has no width
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			width = int(size.Col)
		}
	})

	return width
}
