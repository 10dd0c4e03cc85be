package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// followEvery is the time between signs of life of a process that writes nothing.
const followEvery = 10 * time.Second

// followChunk is the most output of one line. Clients hold a few of them.
const followChunk = 256 << 10

// getFollow sends what a process writes as it is written, and at its end the process. The first client holds a process
// back that writes more than it reads; one that comes while another is attached loses the oldest output instead.
func (ss *Sessions) getFollow(w http.ResponseWriter, r *http.Request) error {
	p, err := ss.ownProcess(r)
	if err != nil {
		return err
	}
	now, err := core.Flag(r.URL.Query(), "now")
	if err != nil {
		return err
	}
	since, err := sinceOf(r.URL.Query())
	if err != nil {
		return err
	}

	ctx, done := ss.UntilStop(r.Context())
	defer done()
	if now {
		since = p.view().OutputOffset
	}
	read := func(ctx context.Context) (api.ProcessOutput, error) {
		out := p.read(ctx, since, followChunk)
		since = out.Next
		return out, nil
	}
	if a, err := p.attach(since, false); err == nil {
		defer p.leave(a)
		read = func(ctx context.Context) (api.ProcessOutput, error) { return p.next(ctx, a, followChunk) }
	}

	w.Header().Set("Content-Type", core.JSONLines)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	lines := core.NewLineStream(w)
	if err := lines.Flush(); err != nil {
		return nil // the client has left
	}
	for {
		e, last := ss.followed(ctx, p, read)
		if ctx.Err() != nil || !ss.putLine(ctx, lines, p.owner, e) {
			panic(http.ErrAbortHandler) // the broken connection tells the client that the process may not have ended
		}
		if last {
			return nil
		}
	}
}

// followed waits for the next event of a process.
func (ss *Sessions) followed(ctx context.Context, p *process,
	read func(context.Context) (api.ProcessOutput, error)) (e api.ProcessEvent, last bool) {
	wait, cancel := context.WithTimeout(ctx, followEvery)
	defer cancel()

	out, err := read(wait)
	switch {
	case errors.Is(err, errTakenOver):
		v := p.view()
		return api.ProcessEvent{Process: &v}, true
	case len(out.Pieces) > 0 || out.Gap > 0:
		return api.ProcessEvent{Output: &out}, false
	case out.Ended:
		v := p.view()
		return api.ProcessEvent{Process: &v}, true
	}
	return api.ProcessEvent{KeepAlive: true}, false
}

// putLine sends an event; false: the client has left, or there is no memory for it.
func (ss *Sessions) putLine(ctx context.Context, lines core.LineStream, key string, e api.ProcessEvent) bool {
	line, err := json.Marshal(e)
	if err != nil {
		return false
	}
	release, ok := ss.Responses.Reserve(ctx, key, int64(len(line)))
	if !ok {
		return false
	}
	defer release()
	if _, err := lines.Write(append(line, '\n')); err != nil {
		return false
	}
	return lines.Flush() == nil
}
