package core

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/queue"
)

// Problem converts err to a Problem with the status.
func Problem(status int, err error) *api.Problem {
	p := &api.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: err.Error(),
		Code: api.CodeInternal}
	var e *api.Error
	if errors.As(err, &e) {
		p.Code, p.RetrySafe, p.Run, p.Session = e.Code, e.RetrySafe, e.Run, e.Session
	}
	return p
}

// Statuses maps the agent's codes. A code that is missing here is a failure: 500.
var Statuses = map[api.Code]int{
	api.CodeBadRequest: http.StatusBadRequest, api.CodeBadLimits: http.StatusBadRequest,
	api.CodeAboveCeiling: http.StatusBadRequest,
	api.CodeBadFile:      http.StatusBadRequest, api.CodeBadProfile: http.StatusBadRequest,
	api.CodeTooLarge:   http.StatusRequestEntityTooLarge,
	api.CodeNoLanguage: http.StatusNotFound, api.CodeNoImage: http.StatusNotFound, api.CodeNoBlob: http.StatusNotFound,
	api.CodeNoProfile: http.StatusNotFound, api.CodeNoProblem: http.StatusNotFound, api.CodeNotFound: http.StatusNotFound,
	api.CodeForbidden:  http.StatusForbidden,
	api.CodeFileDenied: http.StatusForbidden, api.CodeFileConflict: http.StatusConflict,
	api.CodeNoSpace:      http.StatusInsufficientStorage,
	api.CodeUnauthorized: http.StatusUnauthorized,
	api.CodeCheckRefused: http.StatusUnprocessableEntity,
	api.CodeConflict:     http.StatusConflict, api.CodeBatchClosed: http.StatusConflict,
	api.CodeBatchesFull:  http.StatusTooManyRequests,
	api.CodeSessionEnded: http.StatusGone, api.CodeSessionsFull: http.StatusTooManyRequests,
	api.CodeSessionBusy: http.StatusTooManyRequests,
	api.CodeNoProgram:   http.StatusUnprocessableEntity, api.CodeBadProgram: http.StatusUnprocessableEntity,
	api.CodeUnsupported: http.StatusUnprocessableEntity,
	api.CodeBadVolume:   http.StatusUnprocessableEntity, api.CodeBadProblem: http.StatusUnprocessableEntity,
	api.CodePackagesFailed: http.StatusUnprocessableEntity, api.CodeCheckFailed: http.StatusUnprocessableEntity,
	api.CodePackagesMissing: http.StatusNotFound,
	api.CodeBusy:            http.StatusServiceUnavailable, api.CodeOverloaded: http.StatusServiceUnavailable,
	api.CodeHostMemory:   http.StatusServiceUnavailable,
	api.CodeTooManyConns: http.StatusServiceUnavailable, api.CodeHostExhausted: http.StatusServiceUnavailable,
	api.CodeStopping:     http.StatusServiceUnavailable,
	api.CodeSetupTimeout: http.StatusServiceUnavailable, api.CodeImageDamaged: http.StatusServiceUnavailable,
	api.CodeAgentUnreachable: http.StatusServiceUnavailable, api.CodeAgentGone: http.StatusBadGateway,
}

// runError is an error that the history has recorded under the id of a run.
type runError struct {
	id string
	error
}

func (e *runError) Unwrap() error { return e.error }

// OfRun returns err as that of a run that the history has.
func OfRun(id string, err error) error { return &runError{id, err} }

// problemOf returns the problem that a caller gets for err, with the time of a retry if that can
// help. It logs failures of the service. Shutdown is none: it is logged once, and not for each
// request.
func (s *Core) problemOf(err error) *api.Problem {
	p, ours := ProblemFor(err)
	if ours && p.Code != api.CodeStopping {
		s.Log.Error("request failed", "code", p.Code, "run", p.Run, "err", err)
	}
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		p.RetryAfter = 1
		if e := (*api.Error)(nil); errors.As(err, &e) {
			p.RetryAfter = max(1, int(e.RetryAfter.Seconds()))
		}
	}
	return p
}

// ProblemFor returns the problem that a caller may see of err, and whether it is a failure of the
// service: a client that has left is none, wherever the end of its request is noticed. The text of
// such a failure can contain paths of the host, so only the log has it (API-22).
func ProblemFor(err error) (p *api.Problem, ours bool) {
	if errors.As(err, &p) {
		own := *p // several requests may get the same error, and the caller changes the problem (TestRequestsShareNoProblem)
		return &own, false
	}

	var e *api.Error
	told := errors.As(err, &e)
	if !told && errors.Is(err, context.Canceled) {
		gone := closedRequest
		return &gone, false
	}

	var full *queue.Full
	if errors.As(err, &full) {
		p := Problem(http.StatusTooManyRequests, full)
		p.Code, p.RetrySafe = api.CodeQueueFull, true
		raise := "--queue"
		if full.Bound == "key" {
			p.Code, raise = api.CodeKeyQueueFull, "waiting of the key in the keys file"
		}
		p.Detail += ": send it again later, send fewer at once, or have the operator raise " + raise
		return p, false
	}

	if !told {
		e = api.Fail(api.CodeInternal, "%w", err)
	}

	status, known := Statuses[e.Code]
	if !known {
		status = http.StatusInternalServerError
	}

	p = Problem(status, e)
	p.Run = "" // callers of the gateway cannot use the agent's own run id
	var kept *runError
	if errors.As(err, &kept) {
		p.Run = kept.id
	}

	switch {
	case e.Code == api.CodeAgentUnreachable, e.Code == api.CodeAgentGone:
		p.Detail = "the agent that runs the programs does not answer, or the connection to it broke: the service's " +
			"log has the reason; try again later"
	case !known:
		p.Detail = "brig could not carry out the request: its log has the reason; try again"
	}

	return p, status >= http.StatusInternalServerError && status != http.StatusInsufficientStorage // that is of a session
}

// statusClosedRequest is what servers answer to a client that has left; no RFC has a status for it.
const statusClosedRequest = 499

// closedRequest is the answer to a client that has left.
var closedRequest = api.Problem{
	Type: "about:blank", Title: "Client Closed Request", Status: statusClosedRequest, Code: api.CodeCanceled,
	Detail: "the connection was closed, or its sending side: keep both open until the answer has come",
}

// Refuse answers with the problem of an error.
func (s *Core) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	if p := s.Refusal(w, r, err); p != nil {
		w.Header().Set("Content-Type", "application/problem+json")
		s.send(w, r, p.Status, p)
	}
}

// Refusal prepares the answer to a request that failed with an error: it counts the problem, sets the headers that
// do not depend on the form of the answer, and ends the reading of the body. nil: the client has left, and nothing
// more is to be answered.
func (s *Core) Refusal(w http.ResponseWriter, r *http.Request, err error) *api.Problem {
	if r.ContentLength != 0 {
		connlimit.MarkIdle(r) // the connection need not be kept for the rest of the body, which net/http reads for a while
	}
	if errors.Is(err, errConnClosed) {
		return nil
	}
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		// Under TLS it may have closed its sending side alone, which looks the same, and would read an empty answer as a
		// success (TestAHalfClosedClientUnderTLSHasLeft).
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(statusClosedRequest)
		_ = json.NewEncoder(w).Encode(&closedRequest) // if the client has left, nobody needs the error
		return nil
	}

	p := s.CountedProblem(err)
	if p.Status == http.StatusRequestEntityTooLarge || p.Status == http.StatusInsufficientStorage {
		discardBody(w, r)
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}

	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(RefusedBodyTimeout)) // fails only if the connection is closed
	return p
}

// CountedProblem returns the problem for an error that is reported to a caller, and counts it.
func (s *Core) CountedProblem(err error) *api.Problem {
	p := s.problemOf(err)
	s.Metrics.RequestFailed(&api.Error{Code: p.Code, Message: p.Detail})
	return p
}

// Reply writes v as JSON.
func (s *Core) Reply(w http.ResponseWriter, r *http.Request, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	s.send(w, r, status, v)
}

// RefusedBodyTimeout is how long net/http may read the rest of an unwanted body, which it does before it
// sends the response: a client without a key must not occupy a connection with that (API-02).
const RefusedBodyTimeout = 5 * time.Second

// SlowClientTimeout is the timeout for a client that reads a response.
const SlowClientTimeout = 2 * time.Minute

// SetWriteDeadline sets the deadline for sending the response to SlowClientTimeout from now.
func SetWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(SlowClientTimeout)) // fails only if the connection is closed
}

// send writes a response when there is quota for it.
func (s *Core) send(w http.ResponseWriter, r *http.Request, status int, v any) {
	run := finishedRun(v)
	body, err := api.Encode(v) // what the encoding does not need, such as a page's records, can be freed now
	if err != nil {            // only a bug of this module
		s.Log.Error("encode answer", "err", err)
		http.Error(w, `{"code":"internal","status":500,"detail":"the answer could not be encoded"}`,
			http.StatusInternalServerError)
		return
	}

	reserved := int64(0)
	releaseRead(r.Context()) // from here on the quota counts its memory
	if a := AgentResponseOf(r.Context()); a != nil {
		if a.wholeThinned && run != "" {
			s.Refuse(w, r, NoQuotaError(run))
			return
		}
		reserved = a.reservation.Size()
	}

	release, ok := s.Responses.Reserve(r.Context(), CallerOf(r.Context()).Name, body.RetainedSize()-reserved)
	if !ok {
		s.Refuse(w, r, NoQuotaError(run))
		return
	}
	defer release()

	SetWriteDeadline(w)
	h := w.Header()
	h.Set("Content-Length", strconv.FormatInt(body.Len()+1, 10))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)       // if the client has left, nobody needs the error
	_, _ = w.Write([]byte{'\n'}) // for readers in a terminal
}

// ReplyBytes writes a body that is complete, when there is quota for it. run is the run that it tells of; empty: none. A
// result without quota was thinned, and its output must not look as if it were all: that is an error.
func (s *Core) ReplyBytes(w http.ResponseWriter, r *http.Request, status int, body []byte, run string) error {
	reserved := int64(0)
	if a := AgentResponseOf(r.Context()); a != nil {
		if a.wholeThinned || a.pieceThinned {
			return NoQuotaError(run)
		}
		reserved = a.reservation.Size()
	}

	release, ok := s.Responses.Reserve(r.Context(), CallerOf(r.Context()).Name, int64(len(body))-reserved)
	if !ok {
		return NoQuotaError(run)
	}
	defer release()

	SetWriteDeadline(w)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // if the client has left, nobody needs the error
	return nil
}

// JobError is an error as a result of a job has it.
func JobError(err error) error {
	p, _ := ProblemFor(err)
	return &api.Error{Code: p.Code, Message: p.Detail, RetrySafe: p.RetrySafe}
}
