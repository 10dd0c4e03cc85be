package agent

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// status returns the HTTP status of a code. A code that is not listed is a failure of brig: 500.
func status(c api.Code) int {
	switch c {
	case api.CodeBadRequest, api.CodeBadLimits, api.CodeAboveCeiling, api.CodeBadFile,
		api.CodeBadImage, api.CodeBadProfile:
		return http.StatusBadRequest
	case api.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case api.CodeNoLanguage, api.CodeNoImage, api.CodeNoBlob, api.CodeNoProfile, api.CodeNotFound, api.CodePackagesMissing:
		return http.StatusNotFound
	case api.CodeConflict, api.CodeFileConflict:
		return http.StatusConflict
	case api.CodeSessionEnded:
		return http.StatusGone
	case api.CodeForbidden, api.CodeFileDenied:
		return http.StatusForbidden
	case api.CodeNoSpace:
		return http.StatusInsufficientStorage
	case api.CodeNoProgram, api.CodeBadProgram, api.CodeUnsupported, api.CodeBadVolume,
		api.CodePackagesFailed, api.CodeCheckFailed:
		return http.StatusUnprocessableEntity
	case api.CodeBusy, api.CodeSessionBusy, api.CodeSessionsFull, api.CodeOverloaded, api.CodeHostMemory,
		api.CodeHostExhausted, api.CodeImageDamaged, api.CodeSetupTimeout, api.CodeStopping:
		return http.StatusServiceUnavailable
	}

	return http.StatusInternalServerError
}

// toAPIError converts err to the error that the caller may see. The text of a failure of brig can name
// host paths, so only root sees it (API-22); the log has it in any case.
func (s *Server) toAPIError(err error, c api.Caller) *api.Error {
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
	e := s.toAPIError(err, callerOf(r.Context()))
	code := status(e.Code)
	if code == http.StatusServiceUnavailable {
		seconds := max(e.RetryAfter, time.Second).Round(time.Second) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	s.reply(w, code, errorBody{e})
}

// A stallWriter writes to a client that may be slow, as long as it keeps reading.
type stallWriter struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	stall time.Duration
}

func (p *stallWriter) Write(b []byte) (int, error) {
	_ = p.ctl.SetWriteDeadline(time.Now().Add(p.stall)) // fails only on a connection that is not net/http's own, as in a test
	return p.w.Write(b)
}

// reply writes v as JSON. The output in a run's result may be large: it is encoded while it is
// written.
func (s *Server) reply(w http.ResponseWriter, code int, v any) {
	body, err := api.Encode(v)
	if err != nil {
		s.log.Error("encode answer", "err", err)
		s.reply(w, http.StatusInternalServerError,
			errorBody{api.Refuse(api.CodeInternal, "the agent could not encode its answer")})
		return
	}

	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.FormatInt(body.Len(), 10)}
	w.WriteHeader(code)

	// Ignore the error: the client is gone, or sees that the answer is incomplete.
	_, _ = body.WriteTo(&stallWriter{w: w, ctl: http.NewResponseController(w), stall: s.cfg.StallTimeout})
}
