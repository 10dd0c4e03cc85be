package sessions

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
	"github.com/brig-sandbox/brig/service/runs"
)

// postExec executes a command in a session. With Accept: text/event-stream its output is sent as it
// is written, and the result last.
func (ss *Sessions) postExec(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	s, err := ss.registry.find(core.CallerOf(r.Context()).Name, id)
	if err != nil {
		return err
	}

	raw, release, err := ss.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBodyAs[api.Exec](ss.Core, r.Context(), raw, "exec")
	if err != nil {
		return err
	}
	if err := cmp.Or(ask.Validate(), ask.RefuseUnstreamed()); err != nil {
		return err
	}

	o := execRequest(r, id, s, ask)
	ctx, done, err := ss.Track(r)
	if err != nil {
		return err
	}
	defer done()

	if !strings.Contains(r.Header.Get("Accept"), core.EventStream) {
		o.Fn = func(context.Context) (api.Result, error) {
			res, err := ss.Config.Agent.Exec(r.Context(), id, ask) // EndBusy ends it by ending its session
			return ss.adaptExec(id, res, err)
		}
		res, err := ss.dispatchExec(ctx, o)
		if err != nil {
			return err
		}
		release() // the request is no longer needed, however long sending the response takes
		ss.Reply(w, r, http.StatusOK, res)
		return nil
	}

	return ss.streamExec(ctx, w, r, o, ask)
}

// execRequest is the admitted request of an exec, which lacks what it executes (Fn). A resident holds no slot, so no time
// limits how long.
func execRequest(r *http.Request, id string, s sessionEntry, ask api.Exec) *runs.Request {
	o := &runs.Request{
		ID: core.NewID(), Session: id, Caller: core.CallerOf(r.Context()), Dialect: core.DialectOf(r.Context()),
		SourceSize: len(ask.Source), Created: time.Now(),
		Run:      api.Run{Language: s.language, Labels: s.labels, Collect: api.Collect{Blobs: ask.Collect.Blobs}},
		Resident: ask.StaysWithoutSlot(),
	}
	if !o.Resident {
		o.MaxSlotTime = time.Duration(cmp.Or(ask.Limits.Wall, api.DefaultCeiling().Wall))
	}
	return o
}

// streamExec is postExec for a client that reads events. An error before there is any output is
// still a normal error response.
func (ss *Sessions) streamExec(ctx context.Context, w http.ResponseWriter, r *http.Request,
	o *runs.Request, ask api.Exec) error {
	out := &eventWriter{core: ss.Core, w: w, ctx: r.Context(), key: o.Caller.Name}
	o.Fn = func(context.Context) (api.Result, error) {
		ask, stdin := ask, bytes.NewReader(ask.Stdin) // the session may be busy, and this function called again
		ask.Stdin = nil
		stdout, stderr := out.stream(api.EventStdout), out.stream(api.EventStderr)
		res, err := ss.Config.Agent.ExecEvents(r.Context(), o.Session, ask, stdin,
			client.Events{Stdout: stdout, Stderr: stderr})
		runs.FinishStreams(&res, stdout, stderr)
		return ss.adaptExec(o.Session, res, err)
	}

	res, err := ss.dispatchExec(ctx, o)
	switch {
	case err != nil && out.last == 0:
		return err
	case err != nil:
		out.put(api.EventError, ss.CountedProblem(err))
	case !out.put(api.EventResult, res):
		out.put(api.EventError, ss.CountedProblem(core.NoQuotaError(res.Run)))
	}

	return nil
}

// adaptExec adapts the agent's response to an exec. If this service deleted the session because it
// stops, the result says that.
func (ss *Sessions) adaptExec(id string, res api.Result, err error) (api.Result, error) {
	if res.SessionEnded != "" && ss.Kill.Err() != nil {
		res.SessionEnded = stoppingReason
	}
	return res, ss.forgetIfEnded(id, err)
}

// An eventWriter sends events to one client as they happen. A slow client holds the program back.
type eventWriter struct {
	core *core.Core
	w    http.ResponseWriter
	ctx  context.Context // of the request
	key  string
	last int64
}

func (e *eventWriter) stream(name api.EventName) *runs.TeeStream {
	return runs.NewTeeStream(func(b api.Bytes) { e.put(name, runs.StreamEvent{Data: b}) })
}

// put sends an event. It reports false if the event got no quota.
func (e *eventWriter) put(name api.EventName, v any) bool {
	data := events.Encode(v)
	release, ok := e.core.Responses.Reserve(e.ctx, e.key, data.RetainedSize())
	if !ok {
		return false
	}
	defer release()

	if e.last == 0 {
		e.core.StartEvents(e.w)
	}

	e.last++
	core.SetWriteDeadline(e.w)
	_ = events.Event{ID: e.last, Name: name, Data: data}.Write(e.w) // if the client has left, the request's context ends
	_ = http.NewResponseController(e.w).Flush()
	return true
}
