package run

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// usageInterval is the interval at which a run's usage is sampled for a caller that asked for it.
const usageInterval = 500 * time.Millisecond

// usageReporter reports a run's usage to the caller at intervals. The supervisor takes the samples, between
// two events. A separate goroutine calls the caller, which may block it as long as it likes. A nil
// value does nothing.
type usageReporter struct {
	due      atomic.Bool // the supervisor should take a sample
	samples  chan api.LiveUsage
	ended    chan struct{}
	once     sync.Once
	reporter sync.WaitGroup
}

// startUsageReporter starts the goroutine, which wakes the supervisor for each sample.
func startUsageReporter(report func(api.LiveUsage), wake linux.Eventfd) *usageReporter {
	if report == nil {
		return nil
	}

	l := &usageReporter{samples: make(chan api.LiveUsage, 1), ended: make(chan struct{})}
	l.reporter.Go(func() {
		tick := time.NewTicker(usageInterval)
		defer tick.Stop()

		for {
			select {
			case <-tick.C:
				l.due.Store(true)
				wake.Wake()
			case u := <-l.samples:
				report(u)
			case <-l.ended:
				return
			}
		}
	})

	return l
}

// end stops the wake-ups. It does not wait for a caller that is being called.
func (l *usageReporter) end() {
	if l != nil {
		l.once.Do(func() { close(l.ended) })
	}
}

// join ends the reports and waits for the goroutine.
func (l *usageReporter) join() {
	if l != nil {
		l.end()
		l.reporter.Wait()
	}
}

// sampleUsage takes a sample if one is due. A caller that has not taken the last sample misses this one.
func (w *supervisor) sampleUsage() error {
	if w.reporter == nil || !w.reporter.due.CompareAndSwap(true, false) || w.stopped {
		return nil
	}

	u, err := w.Shell.Leaf.Usage()
	if err != nil {
		return err
	}

	all := w.usage(withInputs(u, w.placed))
	sample := api.LiveUsage{CPU: all.CPU, Memory: all.Memory, StdoutBytes: all.StdoutBytes, StderrBytes: all.StderrBytes}
	if exec := w.Shell.Clock.Exec(); exec > 0 {
		sample.Wall = int64(linux.Monotonic() - exec)
	}

	select {
	case w.reporter.samples <- sample:
	default:
	}
	return nil
}
