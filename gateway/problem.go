package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/queue"
)

// problem gives err the status.
func problem(status int, err error) *api.Problem {
	p := &api.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: err.Error(), Code: api.CodeInternal}
	var e *api.Error
	if errors.As(err, &e) {
		p.Code, p.RetrySafe, p.Run, p.Session = e.Code, e.RetrySafe, e.Run, e.Session
	}
	return p
}

// statuses are those of the agent's codes. One that is not here is a failure: 500.
var statuses = map[api.Code]int{
	api.CodeBadRequest: http.StatusBadRequest, api.CodeBadLimits: http.StatusBadRequest, api.CodeAboveCeiling: http.StatusBadRequest,
	api.CodeBadFile: http.StatusBadRequest, api.CodeBadProfile: http.StatusBadRequest,
	api.CodeTooLarge:   http.StatusRequestEntityTooLarge,
	api.CodeNoLanguage: http.StatusNotFound, api.CodeNoImage: http.StatusNotFound, api.CodeNoBlob: http.StatusNotFound,
	api.CodeNoProfile: http.StatusNotFound, api.CodeNotFound: http.StatusNotFound,
	api.CodeForbidden:    http.StatusForbidden,
	api.CodeUnauthorized: http.StatusUnauthorized,
	api.CodeCheckRefused: http.StatusUnprocessableEntity,
	api.CodeConflict:     http.StatusConflict,
	api.CodeSessionEnded: http.StatusGone, api.CodeSessionsFull: http.StatusTooManyRequests, api.CodeSessionBusy: http.StatusTooManyRequests,
	api.CodeNoProgram: http.StatusUnprocessableEntity, api.CodeBadProgram: http.StatusUnprocessableEntity, api.CodeUnsupported: http.StatusUnprocessableEntity,
	api.CodeBadVolume: http.StatusUnprocessableEntity,
	api.CodeBusy:      http.StatusServiceUnavailable, api.CodeOverloaded: http.StatusServiceUnavailable, api.CodeHostMemory: http.StatusServiceUnavailable,
	api.CodeConnsFull: http.StatusServiceUnavailable, api.CodeHostExhausted: http.StatusServiceUnavailable, api.CodeStopping: http.StatusServiceUnavailable,
	api.CodeSetupTimeout:     http.StatusServiceUnavailable,
	api.CodeAgentUnreachable: http.StatusServiceUnavailable, api.CodeAgentGone: http.StatusBadGateway,
}

// An ofRun is an error that the history has under the id of a run.
type ofRun struct {
	id string
	error
}

func (e *ofRun) Unwrap() error { return e.error }

// problemOf is what a caller is told of err: where he may come again, when. A failure of
// ours is logged; that the service is stopping is none, and said once, not to each who comes.
func (g *Gateway) problemOf(err error) *api.Problem {
	p, ours := problemFor(err)
	if ours && p.Code != api.CodeStopping {
		g.log.Error("request failed", "code", p.Code, "run", p.Run, "err", err)
	}
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		p.RetryAfter = 1
	}
	return p
}

// problemFor is what a caller may know of err, and whether it is a failure of ours. The
// text of such a one can name paths of the host, so only the log has it (API-22).
func problemFor(err error) (p *api.Problem, ours bool) {
	if errors.As(err, &p) {
		return p, false
	}
	var full *queue.Full
	if errors.As(err, &full) {
		p := problem(http.StatusTooManyRequests, full)
		p.Code, p.RetrySafe = api.CodeQueueFull, true
		raise := "--queue"
		if full.Bound == "key" {
			p.Code, raise = api.CodeKeyFull, "waiting in the line of the key"
		}
		p.Detail += ": send it again later, send fewer at a time, or have the operator raise " + raise
		return p, false
	}
	var e *api.Error
	if !errors.As(err, &e) {
		e = api.Fail(api.CodeInternal, "%w", err)
	}
	status, known := statuses[e.Code]
	if !known {
		status = http.StatusInternalServerError
	}
	p = problem(status, e)
	p.Run = "" // the agent's own id of it leads nowhere here
	var kept *ofRun
	if errors.As(err, &kept) {
		p.Run = kept.id
	}
	switch {
	case e.Code == api.CodeAgentUnreachable, e.Code == api.CodeAgentGone:
		p.Detail = "the agent that runs the programs does not answer, or has gone away meanwhile: the service's log has the reason; try again later"
	case !known:
		p.Detail = "brig could not carry out the request: its log has the reason; try again"
	}
	return p, status >= http.StatusInternalServerError
}

func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.ContentLength != 0 {
		mayGo(r) // the rest of the body is not worth the connection, which net/http keeps for a while
	}
	if errors.Is(err, errGone) || r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody is there
	}
	p := g.failed(err)
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedBody)) // fails only where there is no connection
	g.send(w, r, p.Status, p, 0)
}

// failed is the problem of an error that somebody is told of.
func (g *Gateway) failed(err error) *api.Problem {
	p := g.problemOf(err)
	g.metrics.Failed(&api.Error{Code: p.Code, Message: p.Detail})
	return p
}

// reply writes v as JSON.
func (g *Gateway) reply(w http.ResponseWriter, r *http.Request, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	g.send(w, r, status, v, 0)
}

// refusedBody is how long net/http may take the rest of a body that is not wanted, which
// it does before it answers: who has no key must not hold a connection by it (API-02).
const refusedBody = 5 * time.Second

// slowClient is how long a client may take to take an answer.
const slowClient = 2 * time.Minute

// inTime has an answer fail that is not taken in that time from now.
func inTime(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slowClient)) // fails only where there is no connection
}

// send writes an answer when there is room for it. It has some already for so many bytes.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, status int, v any, had int64) {
	what, run := sharedBy(v), ranAs(v)
	body, err := api.Encode(v) // what it has no need of, such as a page's records, goes now
	if err != nil {            // only a mistake of ours
		g.log.Error("encode answer", "err", err)
		http.Error(w, `{"code":"internal","status":500,"detail":"the answer could not be encoded"}`, http.StatusInternalServerError)
		return
	}
	answerMade(r.Context()) // from here on its memory is counted
	if a := arrivalOf(r.Context()); a != nil {
		if a.tight && run != "" {
			g.refuse(w, r, untaken(run))
			return
		}
		had += a.room.n
	}
	release, ok := g.answers.await(r.Context(), callerOf(r.Context()).Name, body.Held()-had, what)
	if !ok {
		g.refuse(w, r, untaken(run))
		return
	}
	defer release()
	inTime(w)
	h := w.Header()
	h.Set("Content-Length", strconv.FormatInt(body.Len()+1, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)       // a client that is gone has nobody to tell
	_, _ = w.Write([]byte{'\n'}) // for who reads it in a terminal
}
