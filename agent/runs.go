package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// initialBuffer is the most that is allocated for an announced body before it arrives.
const initialBuffer = 1 << 20

var noDeadline time.Time // the zero time removes a deadline

// run answers POST /v1/runs in the form that the request asks for.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	request, err := s.readRun(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answerRun(w, r, request.Limits.Wall, s.endable(request.Labels, s.keeping(request.Collect,
		func(ctx context.Context, io api.Streams, c api.Caller) (api.Result, error) {
			return s.cfg.Runner.Run(ctx, request, io, c)
		})))
}

// A runFunc executes one run, or one exec of a session.
type runFunc func(ctx context.Context, io api.Streams, c api.Caller) (api.Result, error)

// answerRun answers with the result of a work, in the form that the request asks for.
// wall is the limit that the request sets for its own time.
func (s *Server) answerRun(w http.ResponseWriter, r *http.Request, wall api.Duration, do runFunc) {
	if r.Header.Get("Upgrade") != "" {
		s.runStreamed(w, r, wall, do)
		return
	}

	// The body is read to its end, so net/http now watches the connection and cancels the context
	// when the caller closes it.
	caller := callerOf(r.Context())
	res, err := do(r.Context(), api.Streams{Memory: reservationOf(r.Context()), Wait: waitOf(r)}, caller)
	s.logRun(caller, res, err)
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	s.reply(w, http.StatusOK, res)
}

// logRun logs a run that was executed; told logs failures of brig.
func (s *Server) logRun(c api.Caller, res api.Result, err error) {
	if err == nil && s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("run", "run", res.Run, "uid", c.UID, "verdict", res.Verdict, "wall_ns", res.Timing.Wall)
	}
}

// parse reads and parses a body, and counts its memory for as long as the request lasts.
func parse[T any](s *Server, w http.ResponseWriter, r *http.Request, what string,
	parse func([]byte) (T, error)) (request T, err error) {
	h := reservationOf(r.Context())
	length := r.ContentLength
	if length < 0 { // unknown
		length = int64(s.cfg.MaxRun)
	}
	if err := h.Keep(bodyCost(min(length, int64(s.cfg.MaxRun)))); err != nil {
		return request, err
	}

	raw, err := s.readJSON(w, r, what)
	if err != nil {
		return request, err
	}
	if request, err = parse(raw); err != nil {
		return request, err
	}
	return request, h.Keep(parsedCost(int64(len(raw))) - bodyCost(min(length, int64(s.cfg.MaxRun))))
}

// readRun reads and checks the Run in the body.
func (s *Server) readRun(w http.ResponseWriter, r *http.Request) (request api.Run, err error) {
	if request, err = parse(s, w, r, "run", decode.Run); err != nil {
		return request, err
	}
	if err := checkUpgrade(r, len(request.Stdin) > 0, request.TTY.RefuseUnstreamed); err != nil {
		return request, err
	}
	if err := request.Validate(); err != nil {
		return request, err
	}
	caller := callerOf(r.Context())
	request.EachBlob(func(digest *string) { *digest = ownBlob(*digest, caller) })
	return request, nil
}

// checkUpgrade checks the Upgrade header, which asks for streaming. unstreamed says what of the request needs that.
func checkUpgrade(r *http.Request, stdin bool, unstreamed func() error) error {
	up := r.Header.Get("Upgrade")
	switch {
	case up == "":
		return unstreamed()
	case !strings.EqualFold(up, api.StreamProtocol):
		return api.Refuse(api.CodeBadRequest, "upgrade %q is not supported: use %s", up, api.StreamProtocol)
	case stdin:
		return api.Refuse(api.CodeBadRequest, "stdin is set in a streamed run: send it in frames")
	}
	return nil
}

// readJSON reads a JSON body without parsing it.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, what string) ([]byte, error) {
	encoding := r.Header.Get("Content-Encoding")
	switch {
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		return nil, api.Refuse(api.CodeBadRequest, "a compressed body is not supported: send plain JSON")
	case r.ContentLength > int64(s.cfg.MaxRun):
		return nil, tooLarge(what, s.cfg.MaxRun)
	}
	raw, err := readBody(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxRun)), r.ContentLength)
	if err != nil {
		return nil, bodyError(err, what, s.cfg.MaxRun)
	}
	return raw, nil
}

// readBody reads to the end of the body: only then does net/http watch for a closed connection. It
// does not trust the announced length: the buffer grows only as bytes arrive.
func readBody(body io.Reader, length int64) ([]byte, error) {
	buf := make([]byte, 0, min(max(length, 512), initialBuffer)+1)
	for {
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

func tooLarge(what string, maximum api.Size) *api.Error {
	return api.Refuse(api.CodeTooLarge,
		"the %s is larger than the %s that this agent accepts: send less, or have the operator raise the limit", what, maximum)
}

// bodyError converts an error from reading a body.
func bodyError(err error, what string, maximum api.Size) error {
	var e *api.Error
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(what, maximum)
	case errors.As(err, &e):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return api.Refuse(api.CodeBadRequest, "the %s ended before its announced length", what)
	}
	return err
}
