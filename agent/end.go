package agent

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// labeled has the requests that belong to a run (api.Labels.Run) while the agent carries them out: runs, and
// sessions that are being created.
type labeled struct {
	mu  sync.Mutex
	all map[*labeledRequest]struct{} // guarded by mu
}

// A labeledRequest is one of them.
type labeledRequest struct {
	uid    uint32 // of the caller
	labels api.Labels
	run    bool
	cancel context.CancelFunc
	left   chan struct{} // closed when it is carried out

	ended  bool // guarded by labeled.mu
	failed bool // whether it made no session, or no result; set before left is closed
}

// enter begins a request that can be ended; nil: it has no run. ctx then ends with it, too.
func (l *labeled) enter(ctx context.Context, c api.Caller, labels api.Labels,
	run bool) (context.Context, *labeledRequest) {
	if labels.Run == "" {
		return ctx, nil
	}

	one := &labeledRequest{uid: c.UID, labels: labels, run: run, left: make(chan struct{})}
	ctx, one.cancel = context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[*labeledRequest]struct{}{}
	}
	l.all[one] = struct{}{}
	return ctx, one
}

// leave ends what enter began, and reports whether the request was ended. failed says that it has no outcome.
func (l *labeled) leave(one *labeledRequest, failed bool) (ended bool) {
	if one == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, one)
	one.cancel()
	one.failed = failed
	close(one.left)
	return one.ended
}

// end ends the requests of a caller that e names, and waits until they have ended or ctx is done. It returns how
// many runs there were, and how many sessions that were not created because of it.
func (l *labeled) end(ctx context.Context, c api.Caller, e api.EndRequest) (runs, sessions int) {
	var ending []*labeledRequest
	l.mu.Lock()
	for one := range l.all {
		if one.uid != c.UID || one.ended || !e.Has(one.labels) {
			continue
		}
		one.ended = true
		one.cancel()
		ending = append(ending, one)
	}
	l.mu.Unlock()

	for _, one := range ending {
		if one.run {
			runs++
		}
		select {
		case <-one.left:
			if !one.run && one.failed {
				sessions++
			}
		case <-ctx.Done():
		}
	}
	return runs, sessions
}

// endable makes the run of a request one that its label can end. The caller then gets a result with the verdict
// canceled, also if the run had not begun.
func (s *Server) endable(labels api.Labels, do runFunc) runFunc {
	return func(ctx context.Context, io api.Streams, c api.Caller) (res api.Result, err error) {
		ctx, one := s.labeled.enter(ctx, c, labels, true)
		defer func() {
			if s.labeled.leave(one, err != nil) && err != nil {
				res, err = api.CanceledResult(api.AsError(err).Run, labels, "the run never started"), nil
			}
		}()
		return do(ctx, io, c)
	}
}

// create creates a session, unless its run is ended meanwhile.
func (s *Server) create(ctx context.Context, all Sessions, ask api.SessionRequest, wait time.Duration,
	c api.Caller) (made api.Session, err error) {
	ctx, one := s.labeled.enter(ctx, c, ask.Labels, false)
	defer func() {
		if s.labeled.leave(one, err != nil) && err != nil {
			err = api.Refuse(api.CodeSessionEnded,
				"the session ended while it was being made: its run %q was ended: make another", ask.Labels.Run)
		}
	}()
	return all.Create(ctx, ask, wait, c)
}

// end answers POST /v1/end. A label can be guessed: what another user has with it goes on, also if the caller is
// root (TestEndOfARun). A service has many users behind one uid, and its own route for them.
func (s *Server) end(w http.ResponseWriter, r *http.Request) {
	request, err := parse(s, w, r, "request",
		func(raw []byte) (api.EndRequest, error) { return decode.Value[api.EndRequest](raw, "request") })
	if err == nil {
		err = request.Validate()
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	caller := callerOf(r.Context())
	var ended api.Ended
	ended.Runs, ended.Sessions = s.labeled.end(r.Context(), caller, request)
	if s.cfg.Sessions != nil {
		ended.Sessions += s.cfg.Sessions.End(request, caller)
	}
	if s.cfg.Volumes != nil {
		if ended.Volumes, err = s.endVolumes(r.Context(), request, caller); err != nil {
			s.refuse(w, r, err)
			return
		}
	}

	s.reply(w, http.StatusOK, ended)
}

// endVolumes removes the temporary volumes of a caller that e names, and returns how many there were.
func (s *Server) endVolumes(ctx context.Context, e api.EndRequest, c api.Caller) (removed int, err error) {
	all, err := s.cfg.Volumes.List(c)
	if err != nil {
		return 0, err
	}

	for _, v := range all {
		if !e.HasVolume(v) {
			continue
		}
		switch err := s.cfg.Volumes.Remove(ctx, v.Name, v.Run, c); {
		case err == nil:
			removed++
		case !api.HasCode(err, api.CodeNotFound): // otherwise another request was quicker
			return removed, err
		}
	}

	return removed, nil
}
