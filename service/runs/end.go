package runs

import (
	"context"
	"sync"

	"github.com/brig-sandbox/brig/api"
)

// labeled has the requests that belong to a run (api.Labels.Run), from their admission until their outcome is
// recorded. Execs and jobs are not among them: they end with their session or batch.
type labeled struct {
	mu  sync.Mutex
	all map[*Request]struct{} // guarded by mu
}

// ending is how a request is ended by its label.
type ending struct {
	cancel context.CancelFunc
	asked  context.Context // done when the end was asked for
	ask    context.CancelFunc
	left   chan struct{} // closed when the outcome is recorded
}

// admit makes a request one that can be ended. ctx then ends with it, too. leave must be called when its outcome is
// recorded. If the request was admitted before, or has no run, nothing changes.
func (l *labeled) admit(ctx context.Context, o *Request) (_ context.Context, leave func()) {
	if o.Run.Labels.Run == "" || o.background || o.Session != "" || o.ending != nil {
		return ctx, func() {}
	}

	e := &ending{left: make(chan struct{})}
	ctx, e.cancel = context.WithCancel(ctx)
	e.asked, e.ask = context.WithCancel(context.Background())
	o.ending = e
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*Request]struct{}{}
	}
	l.all[o] = struct{}{}
	return ctx, func() {
		l.mu.Lock()
		delete(l.all, o)
		l.mu.Unlock()
		e.cancel()
		e.ask()
		close(e.left)
	}
}

// isEnded reports whether the request was ended by its label.
func (o *Request) isEnded() bool { return o.ending != nil && o.ending.asked.Err() != nil }

// End ends the requests of an owner that e names, and waits until they have ended or ctx is done. It returns how
// many there were. Their callers get a result with the verdict canceled. A label can be guessed: what another key
// has with it goes on (TestEndOfARun).
func (rs *Runs) End(ctx context.Context, owner string, e api.EndRequest) int {
	rs.labeled.mu.Lock()
	var all []*ending
	for o := range rs.labeled.all {
		if o.Caller.Name == owner && e.Has(o.Run.Labels) && !o.isEnded() {
			all = append(all, o.ending)
			o.ending.ask()
			o.ending.cancel()
		}
	}
	rs.labeled.mu.Unlock()

	for _, one := range all {
		select {
		case <-one.left:
		case <-ctx.Done():
		}
	}
	return len(all)
}
