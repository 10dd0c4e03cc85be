package agent

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// status gives the HTTP status of a code. A code that is not here is ours: 500.
func status(c api.Code) int {
	switch c {
	case api.CodeBadRequest, api.CodeBadLimits, api.CodeAboveCeiling, api.CodeBadFile, api.CodeBadImage, api.CodeBadProfile:
		return http.StatusBadRequest
	case api.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case api.CodeNoLanguage, api.CodeNoImage, api.CodeNoBlob, api.CodeNoProfile, api.CodeNotFound:
		return http.StatusNotFound
	case api.CodeConflict:
		return http.StatusConflict
	case api.CodeSessionEnded:
		return http.StatusGone
	case api.CodeForbidden:
		return http.StatusForbidden
	case api.CodeNoProgram, api.CodeBadProgram, api.CodeUnsupported, api.CodeBadVolume:
		return http.StatusUnprocessableEntity
	case api.CodeBusy, api.CodeSessionBusy, api.CodeSessionsFull, api.CodeOverloaded, api.CodeHostMemory, api.CodeHostExhausted, api.CodeStopping:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// told is what a caller may know of err. The text of a failure of ours can name
// host paths, so only root sees it (API-22); the log has it in any case.
func (s *Server) told(err error, c Caller) *api.Error {
	var e *api.Error
	if !errors.As(err, &e) {
		e = api.Fail(api.CodeInternal, "%w", err)
	}
	if status(e.Code) != http.StatusInternalServerError {
		return e
	}
	s.log.Error("request failed", "code", e.Code, "run", e.Run, "err", err)
	if c.UID == 0 {
		return e
	}
	hidden := api.Fail(e.Code, "the agent could not carry out the request: its log has the reason; try again")
	hidden.RetrySafe, hidden.Run = e.RetrySafe, e.Run
	return hidden
}

// errorBody is the JSON around an Error.
type errorBody struct {
	Error *api.Error `json:"error"`
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := s.told(err, callerOf(r.Context()))
	code := status(e.Code)
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	s.reply(w, code, errorBody{e})
}

// replyResult is reply for the result of a run, whose output may be large.
func (s *Server) replyResult(w http.ResponseWriter, res *api.Result) {
	if !res.Large() {
		s.reply(w, http.StatusOK, res)
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	if err := res.EncodeTo(&patientWriter{w: w, ctl: http.NewResponseController(w), stall: s.cfg.Stall}); err != nil {
		s.log.Debug("an answer broke off", "run", res.Run, "err", err)
		panic(http.ErrAbortHandler) // nobody may take a part for the whole
	}
}

// A patientWriter writes to a client who may take his time as long as he takes some.
type patientWriter struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	stall time.Duration
}

func (p *patientWriter) Write(b []byte) (int, error) {
	_ = p.ctl.SetWriteDeadline(time.Now().Add(p.stall)) // fails only on a connection that is not net/http's own, as in a test
	return p.w.Write(b)
}

// reply writes v as JSON in one piece.
func (s *Server) reply(w http.ResponseWriter, code int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.log.Error("encode answer", "err", err)
		code, body = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the agent could not encode its answer","retry_safe":false}}`)
	}
	// Fails only on a connection that is not net/http's own, as in a test.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.Stall))
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that is gone has nobody to tell
}
