package runs

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
)

// PastEvent is the id of the only event of a run that only the history has: the ids of its original
// events are not recorded. It is the largest integer that every JSON reader can represent.
const PastEvent = 1<<53 - 1

// events streams the events of a run as server-sent events. A client that reconnects with
// Last-Event-ID gets what it missed, or 204 if there is nothing now and never will be: otherwise a
// browser's EventSource would reconnect forever.
func (rs *Runs) events(w http.ResponseWriter, r *http.Request) error {
	after := int64(0)
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("after")
	}
	if last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return api.Refuse(api.CodeBadRequest, "event id %.40q: send the number of the last event that you received", last)
		}
		after = n
	}

	owner, err := core.OwnerOf(r)
	if err != nil {
		return err
	}

	id := r.PathValue("id")
	a := rs.Active.Get(core.CallerOf(r.Context()).Name, id)
	if a == nil {
		status, err := rs.PastRun(r.Context(), owner, id)
		if err != nil {
			return err
		}
		if after >= PastEvent {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return rs.pastEvents(w, r, status)
	}

	ctx := r.Context()
	reader := a.Log.NewReader(after)
	defer reader.Close()

	if reader.Over() {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}

	rs.StartEvents(w)
	out := http.NewResponseController(w)
	for {
		wait, stopWaiting := context.WithTimeout(ctx, core.Heartbeat)
		some, lost := reader.Next(wait)
		idle := wait.Err() != nil && ctx.Err() == nil
		stopWaiting()
		core.SetWriteDeadline(w)

		switch {
		case len(some) > 0:
			// If there are further events, all are small.
			release, ok := rs.Responses.Reserve(ctx, core.CallerOf(ctx).Name, some[0].Data.RetainedSize())
			if !ok {
				return nil // the client reconnects to get it, as after any other end of the stream
			}
			if lost > 0 {
				some = slices.Insert(slices.Clone(some), 0,
					events.Event{ID: some[0].ID - 1, Name: api.EventGap, Data: events.Encode(map[string]int64{"events_lost": lost})})
			}

			var err error
			for i := 0; i < len(some) && err == nil; i++ {
				err = some[i].Write(w)
			}

			release()
			if err != nil {
				return nil
			}

		case idle:
			_, _ = io.WriteString(w, ":\n\n") // Flush returns the error
		default: // the event log has ended, or the client has left
			return nil
		}

		if err := out.Flush(); err != nil {
			return nil
		}
	}
}

// pastEvents streams a run that only the history has. Each client has its own copy of the record in
// memory until it has read it.
func (rs *Runs) pastEvents(w http.ResponseWriter, r *http.Request, s api.Status) error {
	name, v := api.EventResult, any(s.Result)
	if s.Error != nil {
		name, v = api.EventError, s.Error
	}

	data := events.Encode(v)
	release, ok := rs.Responses.Reserve(r.Context(), core.CallerOf(r.Context()).Name, data.RetainedSize())
	if !ok {
		return core.NoQuotaError("")
	}
	defer release()

	rs.StartEvents(w)
	core.SetWriteDeadline(w)
	_ = events.Event{ID: PastEvent, Name: name, Data: data}.Write(w) // if the client has left, nobody needs the error
	return nil
}
