package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
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
	step atomic.Pointer[string] // the current step; nil: not known
}

// setStep sets the current step.
func (p *progress) setStep(step string) { p.step.Store(&step) }

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
				state := time.Since(began).Round(time.Second).String()
				if step := p.step.Load(); step != nil {
					state += ", " + *step
				}
				line := fmt.Sprintf("brig: %s: %s", terminal.OneLine(what), terminal.OneLine(state))
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

// transfer reports how much has been read from what it returns: on a terminal with a bar of bytes,
// elsewhere as progress does. in is read to its end.
func (c *cli) transfer(what string, in io.Reader) (_ io.Reader, end func()) {
	if !isTerminal(c.stderr) {
		p := c.progress(what)
		return in, p.end
	}

	size := int64(-1) // not known
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}

	bar := progressbar.NewOptions64(size, progressbar.OptionSetWriter(c.stderr),
		progressbar.OptionSetDescription("brig: "+terminal.OneLine(what)),
		progressbar.OptionShowBytes(true), progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish())
	return io.TeeReader(in, bar), func() { _ = bar.Clear() } // the terminal has gone: nobody sees the bar
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
