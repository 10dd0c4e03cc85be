package runtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// liveEvery is the time between two looks at what a run uses, for a caller who
// wants to see it.
const liveEvery = 500 * time.Millisecond

// A live tells a caller now and then what his run uses. The watch looks, between two
// events; the caller is told by a goroutine of the live's own, which may wait for him
// as long as it likes. A nil live does nothing.
type live struct {
	due     atomic.Bool // the watch should look
	samples chan api.LiveUsage
	ended   chan struct{}
	once    sync.Once
	told    sync.WaitGroup
}

// startLive starts the goroutine, which wakes the watch for each look.
func startLive(tell func(api.LiveUsage), wake eventfd) *live {
	if tell == nil {
		return nil
	}
	l := &live{samples: make(chan api.LiveUsage, 1), ended: make(chan struct{})}
	l.told.Go(func() {
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				l.due.Store(true)
				wake.wake()
			case u := <-l.samples:
				tell(u)
			case <-l.ended:
				return
			}
		}
	})
	return l
}

// end lets nobody be woken any more. It does not wait for a caller who is being told.
func (l *live) end() {
	if l != nil {
		l.once.Do(func() { close(l.ended) })
	}
}

// join ends it, and waits.
func (l *live) join() {
	if l != nil {
		l.end()
		l.told.Wait()
	}
}

// look samples for the live, if it is time. A caller who has not taken the last sample
// misses this one.
func (w *watch) look() error {
	if w.live == nil || !w.live.due.CompareAndSwap(true, false) || w.stopped {
		return nil
	}
	u, err := w.shell.leaf.Usage()
	if err != nil {
		return err
	}
	all := w.usage(withPlaced(u, w.placed))
	sample := api.LiveUsage{CPU: all.CPU, Memory: all.Memory, StdoutBytes: all.StdoutBytes, StderrBytes: all.StderrBytes}
	if exec := w.shell.clock.exec(); exec > 0 {
		sample.Wall = int64(monotonic() - exec)
	}
	select {
	case w.live.samples <- sample:
	default:
	}
	return nil
}
