package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// heartbeat keeps proxies from closing a stream on which nothing happens, and finds
// clients that have gone.
const heartbeat = 15 * time.Second

// pastEvent is the number of the one event of a run that only the history knows: what
// numbers its events had, nobody knows any more. No number a reader of JSON has is larger.
const pastEvent = 1<<53 - 1

// events streams what happens to a run as server-sent events. A client that comes
// back with Last-Event-ID gets what it missed, and 204 where that is nothing and never will
// be: a browser's EventSource would come back for ever.
func (g *Gateway) events(w http.ResponseWriter, r *http.Request) error {
	after := int64(0)
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("after")
	}
	if last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return api.Refuse(api.CodeBadRequest, "event id %.40q: send the number of the last event that arrived", last)
		}
		after = n
	}
	whose, err := whoseOf(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	a := g.runs.get(callerOf(r.Context()).Name, id)
	if a == nil {
		status, err := g.past(r.Context(), whose, id)
		if err != nil {
			return err
		}
		if after >= pastEvent {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return g.pastEvents(w, r, status)
	}
	ctx := r.Context()
	reader := a.feed.read(after)
	defer reader.close()
	if reader.over() {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	g.stream(w)
	out := http.NewResponseController(w)
	for {
		wait, enough := context.WithTimeout(ctx, heartbeat)
		events, lost := reader.next(wait)
		idle := wait.Err() != nil && ctx.Err() == nil
		enough()
		inTime(w)
		switch {
		case len(events) > 0:
			release, ok := g.answers.await(ctx, callerOf(ctx).Name, events[0].data.Held(), events[0].data) // others with it are small
			if !ok {
				return nil // he comes back for it, as after any other end
			}
			if lost > 0 {
				events = slices.Insert(slices.Clone(events), 0, event{events[0].id - 1, api.EventGap, encoded(map[string]int64{"events_lost": lost})})
			}
			err := writeEvents(w, events)
			release()
			if err != nil {
				return nil
			}
		case idle:
			_, _ = io.WriteString(w, ":\n\n") // Flush tells
		default: // the feed has ended, or the client has gone
			return nil
		}
		if err := out.Flush(); err != nil {
			return nil
		}
	}
}

func (g *Gateway) stream(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect them
	w.WriteHeader(http.StatusOK)
}

// pastEvents is the stream of a run that only the history knows. Each who asks has a record of
// his own in memory until he has taken it.
func (g *Gateway) pastEvents(w http.ResponseWriter, r *http.Request, s api.Status) error {
	name, v := api.EventResult, any(s.Result)
	if s.Error != nil {
		name, v = api.EventError, s.Error
	}
	data := encoded(v)
	release, ok := g.answers.await(r.Context(), callerOf(r.Context()).Name, data.Held(), nil)
	if !ok {
		return untaken("")
	}
	defer release()
	g.stream(w)
	inTime(w)
	_ = writeEvent(w, event{pastEvent, name, data}) // a client that is gone has nobody to tell
	return nil
}

func writeEvents(to io.Writer, events []event) error {
	for _, e := range events {
		if err := writeEvent(to, e); err != nil {
			return err
		}
	}
	return nil
}

// writeEvent writes one event. JSON has no newline of its own. The data is not copied: all
// who read a run's events share it, and some take their time (API-15).
func writeEvent(to io.Writer, e event) error {
	if _, err := fmt.Fprintf(to, "id: %d\nevent: %s\ndata: ", e.id, e.name); err != nil {
		return err
	}
	if _, err := e.data.WriteTo(to); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n\n")
	return err
}
