package operator

import (
	"context"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
)

// now returns what a caller may see of what the service does. The past is added by the caller.
func (o *Operator) now(c core.Caller) api.Overview {
	at := time.Now()
	v := api.Overview{Time: at.UTC(), Health: o.health(), Queue: []api.QueueShare{}}
	for _, s := range o.Queue.Shares() {
		if !c.SeesAll() && s.Key != c.Name {
			continue
		}
		one := api.QueueShare{Key: s.Key, Running: s.Held, Waiting: s.Waiting, Background: s.Background}
		if !s.Oldest.IsZero() {
			one.OldestNS = max(int64(at.Sub(s.Oldest)), 1)
		}
		v.Queue = append(v.Queue, one)
	}

	for _, name := range o.namesFor(c) {
		v.Sessions += len(o.sessions(name))
	}
	return v
}

// namesFor lists the keys whose things a caller may see.
func (o *Operator) namesFor(c core.Caller) []string {
	if !c.SeesAll() || o.Config.Keys == nil {
		return []string{c.Name}
	}
	var names []string
	for _, k := range o.Config.Keys.List() {
		names = append(names, k.Name)
	}
	return names
}

func (o *Operator) getOverview(w http.ResponseWriter, r *http.Request) error {
	c := core.CallerOf(r.Context())
	v := o.now(c)
	o.mu.Lock()
	v.Past = o.past.list(c.SeesAll())
	o.mu.Unlock()
	o.Reply(w, r, http.StatusOK, v)
	return nil
}

// overviewEvents sends an overview at once and at each tick. It ends with the service, and when the key of the caller is
// removed: a stream would otherwise outlive it (TestOverviewEndsWithItsKey).
func (o *Operator) overviewEvents(w http.ResponseWriter, r *http.Request) error {
	ctx, stop := o.UntilStop(r.Context())
	defer stop()

	o.StartEvents(w)
	out := http.NewResponseController(w)
	name := core.CallerOf(ctx).Name
	for id := int64(1); ; id++ {
		c, err := o.CallerNamed(name)
		if err != nil {
			return nil
		}

		v := o.now(c)
		o.mu.Lock()
		ticked := o.ticked
		if past := o.past.list(c.SeesAll()); len(past) > 0 {
			v.Past = past[len(past)-1:]
		}
		o.mu.Unlock()

		core.SetWriteDeadline(w)
		event := events.Event{ID: id, Name: api.EventOverview, Data: events.Encode(v)}
		if err := event.Write(w); err != nil {
			return nil
		}
		if err := out.Flush(); err != nil {
			return nil
		}
		if !wait(ctx, ticked) {
			return nil
		}
	}
}

// wait reports whether it happened before ctx ended.
func wait(ctx context.Context, happened <-chan struct{}) bool {
	select {
	case <-happened:
		return true
	case <-ctx.Done():
		return false
	}
}
