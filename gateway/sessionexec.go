package gateway

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
)

// postExec executes a command in a session. With Accept: text/event-stream its output
// comes as it is written, and the result last.
func (g *Gateway) postExec(w http.ResponseWriter, r *http.Request) error {
	id, c := r.PathValue("id"), callerOf(r.Context())
	s, err := g.sessions.find(c.Name, id)
	if err != nil {
		return err
	}
	raw, release, err := g.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	ask, err := parsedAs[api.Exec](g, r.Context(), raw, "exec")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}
	o := &order{
		id: runID(), session: id, caller: c, size: len(ask.Source), created: time.Now(),
		run: api.Run{Language: s.language, Labels: s.labels}, longest: time.Duration(cmp.Or(ask.Limits.Wall, api.DefaultCeiling().Wall)),
	}
	ctx, done, err := g.wanted(r)
	if err != nil {
		return err
	}
	defer done()
	if !strings.Contains(r.Header.Get("Accept"), eventStream) {
		o.do = func(context.Context) (api.Result, error) {
			res, err := g.cfg.Agent.Exec(r.Context(), id, ask) // cutOff ends it by its session
			return g.ofExec(id, res, err)
		}
		res, err := g.carryExec(ctx, o)
		if err != nil {
			return err
		}
		release() // the request is not needed any more, however long the answer takes
		g.reply(w, r, http.StatusOK, res)
		return nil
	}
	return g.streamExec(ctx, w, r, o, ask)
}

// streamExec is postExec for one who listens. What fails before there is output is
// still an answer of its own.
func (g *Gateway) streamExec(ctx context.Context, w http.ResponseWriter, r *http.Request, o *order, ask api.Exec) error {
	out := &eventWriter{g: g, w: w, ctx: r.Context(), key: o.caller.Name}
	o.do = func(context.Context) (api.Result, error) {
		ask, stdin := ask, bytes.NewReader(ask.Stdin) // the session may be busy, and this done again
		ask.Stdin = nil
		stdout, stderr := out.stream(api.EventStdout), out.stream(api.EventStderr)
		res, err := g.cfg.Agent.ExecEvents(r.Context(), o.session, ask, stdin, client.Events{Stdout: stdout, Stderr: stderr})
		heard(&res, stdout, stderr)
		return g.ofExec(o.session, res, err)
	}
	res, err := g.carryExec(ctx, o)
	switch {
	case err != nil && out.last == 0:
		return err
	case err != nil:
		out.put(api.EventError, g.failed(err))
	case !out.put(api.EventResult, res):
		out.put(api.EventError, g.failed(untaken(res.Run)))
	}
	return nil
}

// keepInUse has a session count as used until ctx is done: an exec that waits for its turn
// is something that is asked of it, and the agent does not know yet.
func (g *Gateway) keepInUse(ctx context.Context, id string) {
	for {
		s, err := g.cfg.Agent.UseSession(ctx, id)
		if err != nil {
			return // the exec will be told
		}
		select {
		case <-time.After(time.Duration(s.Idle) / 3):
		case <-ctx.Done():
			return
		}
	}
}

// ofExec is what the agent says of an exec. That its session was deleted is not for its
// caller to wonder about when we did it.
func (g *Gateway) ofExec(id string, res api.Result, err error) (api.Result, error) {
	if res.SessionEnded != "" && g.kill.Err() != nil {
		res.SessionEnded = serviceStops
	}
	return res, g.noteEnd(id, err)
}

// An eventWriter writes events to one listener as they happen, who holds the program
// back if he is slow.
type eventWriter struct {
	g    *Gateway
	w    http.ResponseWriter
	ctx  context.Context // of the request
	key  string
	last int64
}

func (e *eventWriter) stream(name api.EventName) *keptStream {
	return keep(func(b api.Bytes) { e.put(name, streamEvent{b}) })
}

// put reports whether there was room for the event.
func (e *eventWriter) put(name api.EventName, v any) bool {
	data := encoded(v)
	release, ok := e.g.answers.await(e.ctx, e.key, data.Held(), nil)
	if !ok {
		return false
	}
	defer release()
	if e.last == 0 {
		e.g.stream(e.w)
	}
	e.last++
	inTime(e.w)
	_ = writeEvent(e.w, event{e.last, name, data}) // a client that is gone ends the request's context
	_ = http.NewResponseController(e.w).Flush()
	return true
}
