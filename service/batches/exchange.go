package batches

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/events"
)

// startLines begins a response of lines.
func startLines(w http.ResponseWriter, b *Batch) core.LineStream {
	h := w.Header()
	h.Set("Content-Type", core.JSONLines)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer them
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Location", "/v1/batches/"+b.ID())
	core.SetWriteDeadline(w)
	w.WriteHeader(http.StatusOK)
	return core.NewLineStream(w)
}

// getResults sends lines of results.
func (bs *Batches) getResults(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.batchOf(r)
	if err != nil {
		return err
	}

	after, err := count(r, "after", 0, math.MaxInt64)
	if err != nil {
		return err
	}

	limit, err := count(r, "limit", 1, maxPage)
	if err != nil {
		return err
	}

	follow, err := core.Flag(r.URL.Query(), "follow")
	if err != nil {
		return err
	}
	if limit == 0 && !follow {
		limit = defaultPage
	}

	ctx, cancel := bs.UntilStop(r.Context())
	defer cancel()

	out := startLines(w, b)
	if err := out.Flush(); err != nil {
		return nil // the client has left
	}

	all, err := b.Results(ctx, Reading{After: after, Limit: limit, Follow: follow}, out)
	bs.endLines(out, b, follow && all, err, nil)
	return nil
}

// endLines ends a response of lines. The client recognizes by the last line that it has all.
func (bs *Batches) endLines(out core.LineStream, b *Batch, all bool, err, refused error) {
	if err != nil {
		bs.Log.Debug("lines of results ended early", "batch", b.ID(), "err", err)
		return
	}
	if !all {
		return
	}

	end := api.BatchEnd{End: true, Batch: b.Status()}
	if refused != nil {
		p := bs.CountedProblem(refused)
		end.Error = &api.Error{Code: p.Code, Message: p.Detail, RetrySafe: p.RetrySafe}
	}

	text, err := json.Marshal(end)
	if err != nil { // only a bug of this module
		bs.Log.Error("encode the end of a batch", "err", err)
		return
	}

	_, _ = out.Write(append(text, '\n')) // if the client has left, nobody needs it
}

// exchangeBatch opens a batch, takes the jobs in the body, and sends their results as they come.
func (bs *Batches) exchangeBatch(w http.ResponseWriter, r *http.Request, s *Store, key string) error {
	if err := requireLines(r); err != nil {
		return err
	}

	cancelOnHangup, err := core.Flag(r.URL.Query(), "cancel_on_hangup")
	if err != nil {
		return err
	}

	body, err := bs.openLines(w, r)
	if err != nil {
		return err
	}

	closeBody := sync.OnceFunc(body.close)
	defer closeBody()

	lines := NewLines(body)
	ask, err := firstLine(lines)
	if err != nil {
		return body.reason(err)
	}

	c := core.CallerOf(r.Context())
	b, err := bs.createBatch(s, c, key, ask)
	if err != nil {
		return err
	}
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		return err
	}
	if !cancelOnHangup { // otherwise the batch ends at once, not at the next heartbeat
		connlimit.LetWritesTell(r)
	}

	ctx, cancel := bs.UntilStop(r.Context())
	defer cancel()

	var refused error // why not all were taken; read after taking is done
	var taking sync.WaitGroup
	out := startLines(w, b)
	if err := out.Flush(); err != nil {
		return nil // the client has left
	}

	taking.Go(func() {
		defer closeBody()

		if b.Status().State != api.BatchOpen { // the same exchange again: the batch has its jobs
			_, _ = io.Copy(io.Discard, body) // what the client sends is not wanted
			return
		}

		_, refused = b.Take(lines, limitsOf(c), true)
		if body.broken() && bs.Stopping.Err() == nil { // the client hung up
			cancel()
			if key != "" { // the client may send all again
				return
			}
		}
		if err := b.Close(); err != nil {
			refused = errors.Join(refused, err)
			cancel()
		}
	})

	all, err := b.Results(ctx, Reading{Follow: true}, out)
	_ = out.Out.SetReadDeadline(time.Now()) // fails only if the connection is closed; nothing more is taken
	taking.Wait()
	if cancelOnHangup && err != nil && bs.Stopping.Err() == nil {
		if err := b.Cancel(); err != nil {
			bs.Log.Error("a batch whose client hung up is not canceled", "batch", b.ID(), "err", err)
		}
	}

	bs.endLines(out, b, all, err, refused)
	return nil
}

// firstLine reads the request of a batch from the first line, if that has defaults.
func firstLine(lines *Lines) (ask api.BatchRequest, err error) {
	first, err := lines.Peek()
	switch {
	case errors.Is(err, io.EOF):
		return ask, api.Refuse(api.CodeBadRequest, "there are no jobs: send one in each line")
	case err != nil || first.Defaults == nil:
		return ask, err
	}
	lines.Skip()
	return decode.Batch(first.Text, "first line")
}

// eventInterval is the shortest time between two events of a batch.
const eventInterval = time.Second

// batchEvents streams the state of a batch as server-sent events.
func (bs *Batches) batchEvents(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.batchOf(r)
	if err != nil {
		return err
	}

	ctx, cancel := bs.UntilStop(r.Context())
	defer cancel()

	bs.StartEvents(w)
	out := http.NewResponseController(w)
	for {
		changed, now := b.Changed(), b.Status()
		e := events.Event{ID: now.Results, Name: api.EventProgress, Data: events.Encode(now)}
		if now.Ended != nil {
			e.Name = api.EventDone
		}

		core.SetWriteDeadline(w)
		if e.Write(w) != nil || out.Flush() != nil || now.Ended != nil {
			return nil
		}
		if !waitForEvent(ctx, changed, func() error {
			core.SetWriteDeadline(w)
			_, _ = io.WriteString(w, ":\n\n") // Flush returns the error
			return out.Flush()
		}) {
			return nil
		}
	}
}

// waitForEvent waits for a change, and at least eventInterval. It returns false if the client has left.
func waitForEvent(ctx context.Context, changed <-chan struct{}, beat func() error) bool {
	minimum, idle := time.NewTimer(eventInterval), time.NewTicker(core.Heartbeat)
	defer minimum.Stop()
	defer idle.Stop()

	for due := false; ; {
		event := changed
		if !due {
			event = nil
		}

		select {
		case <-event:
			return true
		case <-minimum.C:
			due = true
		case <-idle.C:
			if beat() != nil {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
}
