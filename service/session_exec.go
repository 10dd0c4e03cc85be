package service

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/events"
)

// postExec executes a command in a session. With Accept: text/event-stream its output is sent as it
// is written, and the result last.
func (ss *sessions) postExec(w http.ResponseWriter, r *http.Request) error {
	id, c := r.PathValue("id"), callerOf(r.Context())
	s, err := ss.registry.find(c.Name, id)
	if err != nil {
		return err
	}

	raw, release, err := ss.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := parseBodyAs[api.Exec](ss.core, r.Context(), raw, "exec")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	o := &runRequest{
		id: runID(), session: id, caller: c, sourceSize: len(ask.Source), created: time.Now(),
		run:         api.Run{Language: s.language, Labels: s.labels},
		maxSlotTime: time.Duration(cmp.Or(ask.Limits.Wall, api.DefaultCeiling().Wall)),
	}

	ctx, done, err := ss.track(r)
	if err != nil {
		return err
	}
	defer done()

	if !strings.Contains(r.Header.Get("Accept"), eventStream) {
		o.fn = func(context.Context) (api.Result, error) {
			res, err := ss.cfg.Agent.Exec(r.Context(), id, ask) // endBusy ends it by ending its session
			return ss.adaptExec(id, res, err)
		}
		res, err := ss.dispatchExec(ctx, o)
		if err != nil {
			return err
		}
		release() // the request is no longer needed, however long sending the response takes
		ss.reply(w, r, http.StatusOK, res)
		return nil
	}

	return ss.streamExec(ctx, w, r, o, ask)
}

// streamExec is postExec for a client that reads events. An error before there is any output is
// still a normal error response.
func (ss *sessions) streamExec(ctx context.Context, w http.ResponseWriter, r *http.Request,
	o *runRequest, ask api.Exec) error {
	out := &eventWriter{core: ss.core, w: w, ctx: r.Context(), key: o.caller.Name}
	o.fn = func(context.Context) (api.Result, error) {
		ask, stdin := ask, bytes.NewReader(ask.Stdin) // the session may be busy, and this function called again
		ask.Stdin = nil
		stdout, stderr := out.stream(api.EventStdout), out.stream(api.EventStderr)
		res, err := ss.cfg.Agent.ExecEvents(r.Context(), o.session, ask, stdin, client.Events{Stdout: stdout, Stderr: stderr})
		finishStreams(&res, stdout, stderr)
		return ss.adaptExec(o.session, res, err)
	}

	res, err := ss.dispatchExec(ctx, o)
	switch {
	case err != nil && out.last == 0:
		return err
	case err != nil:
		out.put(api.EventError, ss.countedProblem(err))
	case !out.put(api.EventResult, res):
		out.put(api.EventError, ss.countedProblem(noQuotaError(res.Run)))
	}

	return nil
}

// adaptExec adapts the agent's response to an exec. If this service deleted the session because it
// stops, the result says that.
func (ss *sessions) adaptExec(id string, res api.Result, err error) (api.Result, error) {
	if res.SessionEnded != "" && ss.kill.Err() != nil {
		res.SessionEnded = stoppingReason
	}
	return res, ss.forgetIfEnded(id, err)
}

// An eventWriter sends events to one client as they happen. A slow client holds the program back.
type eventWriter struct {
	core *core
	w    http.ResponseWriter
	ctx  context.Context // of the request
	key  string
	last int64
}

func (e *eventWriter) stream(name api.EventName) *teeStream {
	return newTeeStream(func(b api.Bytes) { e.put(name, streamEvent{b}) })
}

// put sends an event. It reports false if the event got no quota.
func (e *eventWriter) put(name api.EventName, v any) bool {
	data := events.Encode(v)
	release, ok := e.core.responses.reserve(e.ctx, e.key, data.RetainedSize())
	if !ok {
		return false
	}
	defer release()

	if e.last == 0 {
		e.core.startEvents(e.w)
	}

	e.last++
	setWriteDeadline(e.w)
	_ = events.Event{ID: e.last, Name: name, Data: data}.Write(e.w) // if the client has left, the request's context ends
	_ = http.NewResponseController(e.w).Flush()
	return true
}
