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
)

// firstRead is how much of an announced body is believed before it comes.
const firstRead = 1 << 20

var noDeadline time.Time // the zero time lifts one

// run answers POST /v1/runs in the form that the request asks for.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	ask, err := s.readRun(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.carryOut(w, r, ask.Limits.Wall, func(ctx context.Context, io Streams, c Caller) (api.Result, error) {
		return s.cfg.Runner.Run(ctx, ask, io, c)
	})
}

// A work carries out one run, or one exec of a session.
type work func(ctx context.Context, io Streams, c Caller) (api.Result, error)

// carryOut answers with the result of a work, in the form that the request asks for.
// wall is the time it may take, by its own limit.
func (s *Server) carryOut(w http.ResponseWriter, r *http.Request, wall api.Duration, do work) {
	if r.Header.Get("Upgrade") != "" {
		s.runStreamed(w, r, wall, do)
		return
	}
	// The body is read to its end, so net/http now watches the connection and
	// cancels the context when the caller hangs up.
	caller := callerOf(r.Context())
	res, err := do(r.Context(), Streams{Hold: holdingOf(r.Context()).resize, Again: holdingOf(r.Context()).again()}, caller)
	holdingOf(r.Context()).ended(err)
	s.note(caller, res, err)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, res)
}

// note logs a run that was carried out; refusals of ours are logged by told.
func (s *Server) note(c Caller, res api.Result, err error) {
	if err == nil && s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("run", "run", res.Run, "uid", c.UID, "verdict", res.Verdict, "wall_ns", res.Timing.Wall)
	}
}

// parse reads a body and parses it, and has it counted for as long as the request lasts.
func parse[T any](s *Server, w http.ResponseWriter, r *http.Request, what string, parse func([]byte) (T, error)) (ask T, err error) {
	h := holdingOf(r.Context())
	length := r.ContentLength
	if length < 0 { // it does not say
		length = int64(s.cfg.MaxRun)
	}
	if err := h.read(bodyCost(min(length, int64(s.cfg.MaxRun)))); err != nil {
		return ask, err
	}
	raw, err := s.readJSON(w, r, what)
	if err != nil {
		return ask, err
	}
	if ask, err = parse(raw); err != nil {
		return ask, err
	}
	return ask, h.read(parsedCost(int64(len(raw))) - bodyCost(min(length, int64(s.cfg.MaxRun))))
}

// readRun reads and checks the Run in the body.
func (s *Server) readRun(w http.ResponseWriter, r *http.Request) (ask api.Run, err error) {
	if ask, err = parse(s, w, r, "run", api.ParseRun); err != nil {
		return ask, err
	}
	if err := upgrades(r, len(ask.Stdin) > 0); err != nil {
		return ask, err
	}
	return ask, ask.Validate()
}

// upgrades checks what a request says of streaming.
func upgrades(r *http.Request, stdin bool) error {
	up := r.Header.Get("Upgrade")
	switch {
	case up == "":
	case !strings.EqualFold(up, api.StreamProtocol):
		return api.Refuse(api.CodeBadRequest, "upgrade %q is not spoken here: use %s", up, api.StreamProtocol)
	case stdin:
		return api.Refuse(api.CodeBadRequest, "stdin is set in a streamed run: send it in frames")
	}
	return nil
}

// readJSON reads a body that is to be parsed.
func (s *Server) readJSON(w http.ResponseWriter, r *http.Request, what string) ([]byte, error) {
	switch {
	case r.Header.Get("Content-Encoding") != "":
		return nil, api.Refuse(api.CodeBadRequest, "a compressed body is not taken: send plain JSON")
	case r.ContentLength > int64(s.cfg.MaxRun):
		return nil, tooLarge(what, s.cfg.MaxRun)
	}
	raw, err := readBody(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxRun)), r.ContentLength)
	if err != nil {
		return nil, bodyError(err, what, s.cfg.MaxRun)
	}
	return raw, nil
}

// readBody reads to the end of the body, which net/http must have seen before it
// watches for a hang-up. It believes a length only as far as bytes arrive.
func readBody(body io.Reader, length int64) ([]byte, error) {
	buf := make([]byte, 0, min(max(length, 512), firstRead)+1)
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

func tooLarge(what string, most api.Size) *api.Error {
	return api.Refuse(api.CodeTooLarge, "the %s is larger than the %s this agent takes: send less, or have the operator raise the limit", what, most)
}

// bodyError names what went wrong while a body was read.
func bodyError(err error, what string, most api.Size) error {
	var e *api.Error
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(what, most)
	case errors.As(err, &e):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return api.Refuse(api.CodeBadRequest, "the %s ended before its announced length", what)
	}
	return err
}
