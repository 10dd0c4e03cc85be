package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/queue"
)

// A Problem is an error as RFC 9457 has it. Code is the stable part; Detail is for
// people.
type Problem struct {
	Type   string `json:"type"`  // always about:blank: Code says more
	Title  string `json:"title"` // of the HTTP status
	Status int    `json:"status"`
	Detail string `json:"detail"`

	Code      api.Code `json:"code"`
	RetrySafe bool     `json:"retry_safe"` // the same request may be sent again: a run has no effect outside its sandbox
	Run       string   `json:"run_id,omitempty"`

	retryAfter time.Duration
	err        error
}

func (p *Problem) Error() string { return p.Detail }

// Unwrap gives what the problem was made of.
func (p *Problem) Unwrap() error { return p.err }

// The gateway's own codes, beside the agent's.
const (
	CodeUnauthorized api.Code = "unauthorized"   // no key, or one that is not known
	CodeQueueFull    api.Code = "queue-full"     // the service's queue has no place left; retry
	CodeKeyFull      api.Code = "key-queue-full" // as many requests of this key wait as may; retry
	CodeWaited       api.Code = "waited-too-long"
	CodeConflict     api.Code = "conflict" // it is there already, or is something else
)

// problem gives err the status.
func problem(status int, err error) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: err.Error(), Code: api.CodeInternal, err: err}
	var e *api.Error
	if errors.As(err, &e) {
		p.Code, p.RetrySafe, p.Run = e.Code, e.RetrySafe, e.Run
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
	api.CodeForbidden: http.StatusForbidden,
	CodeUnauthorized:  http.StatusUnauthorized,
	CodeConflict:      http.StatusConflict,
	api.CodeNoProgram: http.StatusUnprocessableEntity, api.CodeBadProgram: http.StatusUnprocessableEntity, api.CodeUnsupported: http.StatusUnprocessableEntity,
	api.CodeBusy: http.StatusServiceUnavailable, api.CodeOverloaded: http.StatusServiceUnavailable, api.CodeHostMemory: http.StatusServiceUnavailable,
	api.CodeHostExhausted: http.StatusServiceUnavailable, api.CodeStopping: http.StatusServiceUnavailable,
	api.CodeAgentUnreachable: http.StatusServiceUnavailable, api.CodeAgentGone: http.StatusBadGateway,
}

// problemOf is what a caller may know of err. The text of a failure of ours can name
// paths of the host, so only the log has it (API-22).
func (g *Gateway) problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var full *queue.Full
	if errors.As(err, &full) {
		p := problem(http.StatusTooManyRequests, full)
		p.Code, p.RetrySafe, p.retryAfter = CodeQueueFull, true, time.Second
		if full.Bound == "key" {
			p.Code = CodeKeyFull
		}
		p.Detail += ": send it again later"
		return p
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
	if status == http.StatusServiceUnavailable {
		p.retryAfter = time.Second
	}
	if status >= http.StatusInternalServerError {
		g.log.Error("request failed", "code", e.Code, "run", e.Run, "err", err)
	}
	if !known {
		p.Detail = "brig could not carry out the request: its log has the reason; try again"
	}
	return p
}

func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody is there
	}
	p := g.problemOf(err)
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(max(p.retryAfter, time.Second)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	g.send(w, p.Status, p)
}

// reply writes v as JSON in one piece.
func (g *Gateway) reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	g.send(w, status, v)
}

// slowClient is how long a client may take to take an answer.
const slowClient = 2 * time.Minute

func (g *Gateway) send(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // only a mistake of ours
		g.log.Error("encode answer", "err", err)
		http.Error(w, `{"code":"internal","status":500,"detail":"the answer could not be encoded"}`, http.StatusInternalServerError)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slowClient)) // fails only where there is no connection
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone has nobody to tell
}
