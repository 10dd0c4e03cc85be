package main

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

// A progress reports on stderr that work is under way: on a terminal in one line, every second;
// elsewhere every ten seconds. The first report comes after one interval.
type progress struct {
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

// setStep sets the current step.
func (p *progress) setStep(step string) { p.now.Store(&progressState{step: step}) }

// setCount sets the current step, and how much of all is done.
func (p *progress) setCount(step string, done, total int64) {
	p.now.Store(&progressState{step, done, total})
}

func (c *cli) progress(what string) *progress {
	p := &progress{stop: make(chan struct{})}
	every := 10 * time.Second
	onTerminal := isTerminal(c.stderr)
	if onTerminal {
		every = time.Second
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
					line = "\r" + fitted(line, terminalWidth(c.stderr)) + "\x1b[K"
				} else {
					line += "\n"
				}
				fmt.Fprint(c.stderr, line)
				printed = true

			case <-p.stop:
				if printed && onTerminal {
					fmt.Fprint(c.stderr, *p.last.Load())
				}
				return
			}
		}
	})

	return p
}

// line is a report.
func (p *progress) line(what string, took time.Duration, bar bool) string {
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

// vanish ends it, and erases its line on a terminal.
func (p *progress) vanish() { p.endWith("\r\x1b[K") }

func (p *progress) end() { p.endWith("\n") }

func (p *progress) endWith(last string) {
	p.last.Store(&last)
	close(p.stop)
	p.wg.Wait()
}

// transfer reports how much has been read from what it returns. in is read to its end.
func (c *cli) transfer(what string, in io.Reader) (_ io.Reader, end func()) {
	n := &byteCount{shown: c.progress(what), began: time.Now()}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			n.size = info.Size()
		}
	}
	return io.TeeReader(in, n), n.shown.vanish
}

// A byteCount shows how many bytes have been written to it.
type byteCount struct {
	shown      *progress
	began      time.Time
	done, size int64 // size is zero if it is not known
}

func (n *byteCount) Write(p []byte) (int, error) {
	n.done += int64(len(p))
	step := formatSize(n.done)
	if n.size > 0 {
		step += " of " + formatSize(n.size)
	}
	if took := time.Since(n.began).Seconds(); took > 0 {
		step += ", " + formatSize(int64(float64(n.done)/took)) + "/s"
	}
	n.shown.setCount(step, n.done, n.size)
	return len(p), nil
}

// isTerminal reports whether w is a terminal. Other devices, such as /dev/null, are not.
func isTerminal(w any) bool {
	f, ok := underlying(w).(*os.File)
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

// formatSize formats a size for people.
func formatSize(n int64) string { return formatBytes(api.Known(n, "")) }
