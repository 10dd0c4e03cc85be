package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// A progress tells on stderr that something is going on, from its second second:
// on a terminal every second in one line, elsewhere every ten seconds.
type progress struct {
	stop chan struct{}
	wg   sync.WaitGroup
	step atomic.Pointer[string] // what is being done; nil: nobody said
}

// now says what is being done.
func (p *progress) now(step string) { p.step.Store(&step) }

func (c *console) progress(what string) *progress {
	p := &progress{stop: make(chan struct{})}
	every, format, last := 10*time.Second, "brig: %s: %s\n", ""
	if isTerminal(c.stderr) {
		every, format, last = time.Second, "\rbrig: %s: %s \x1b[K", "\n"
	}
	began := time.Now()
	p.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		said := false
		for {
			select {
			case <-tick.C:
				state := time.Since(began).Round(time.Second).String()
				if step := p.step.Load(); step != nil {
					state += ", " + *step
				}
				fmt.Fprintf(c.stderr, format, oneLine(what), oneLine(state))
				said = true
			case <-p.stop:
				if said {
					fmt.Fprint(c.stderr, last)
				}
				return
			}
		}
	})
	return p
}

func (p *progress) end() {
	close(p.stop)
	p.wg.Wait()
}

// isTerminal reports whether w is a terminal. Other devices, such as /dev/null, are none.
func isTerminal(w any) bool {
	f, ok := below(w).(*os.File)
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

// roundSize writes a size for people.
func roundSize(n int64) string { return bytesOf(api.Known(n, "")) }
