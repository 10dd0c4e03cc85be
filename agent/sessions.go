package agent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// sessions returns the agent's Sessions. If the agent has none, it refuses the request and returns
// nil.
func (s *Server) sessions(w http.ResponseWriter, r *http.Request) Sessions {
	if s.cfg.Sessions == nil {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent keeps no sessions"))
	}
	return s.cfg.Sessions
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}

	request, err := parse(s, w, r, "session",
		func(raw []byte) (api.SessionRequest, error) { return decode.Value[api.SessionRequest](raw, "session") })
	if err == nil {
		err = request.Validate()
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	made, err := all.Create(r.Context(), request, callerOf(r.Context()))
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	s.reply(w, http.StatusCreated, made)
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	if all := s.sessions(w, r); all != nil {
		s.reply(w, http.StatusOK, nonNil(all.List(callerOf(r.Context()))))
	}
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) {
	s.replySession(w, r, Sessions.Get)
}

// useSession counts as a use of the session, so that the session does not end because it is idle.
// The gateway sends this request while an exec of the session waits for a slot.
func (s *Server) useSession(w http.ResponseWriter, r *http.Request) {
	s.replySession(w, r, Sessions.Use)
}

func (s *Server) replySession(w http.ResponseWriter, r *http.Request,
	get func(Sessions, string, api.Caller) (api.Session, error)) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}
	one, err := get(all, r.PathValue("id"), callerOf(r.Context()))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, one)
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}
	if err := all.Delete(r.PathValue("id"), callerOf(r.Context())); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, struct{}{})
}

// execInSession executes a program in a session. Like run, it responds in the form that the request
// asks for: JSON, or frames after an upgrade.
func (s *Server) execInSession(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}
	request, err := s.readExec(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.answerRun(w, r, request.Limits.Wall, func(ctx context.Context, io api.Streams, c api.Caller) (api.Result, error) {
		return all.Exec(ctx, r.PathValue("id"), request, io, c)
	})
}

func (s *Server) readExec(w http.ResponseWriter, r *http.Request) (request api.Exec, err error) {
	if request, err = parse(s, w, r, "exec",
		func(raw []byte) (api.Exec, error) { return decode.Value[api.Exec](raw, "exec") }); err != nil {
		return request, err
	}
	if err := checkUpgrade(r, len(request.Stdin) > 0); err != nil {
		return request, err
	}
	return request, request.Validate()
}

func (s *Server) listFiles(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}

	volume, err := flag(r, "volume")
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	found, err := all.ListFiles(r.Context(), r.PathValue("id"), r.URL.Query().Get("dir"), volume,
		reservationOf(r.Context()).Keep, callerOf(r.Context()))
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	found.Files = nonNil(found.Files)
	s.reply(w, http.StatusOK, found)
}

func (s *Server) removeFile(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}

	volume, err := flag(r, "volume")
	if err == nil {
		err = all.RemoveFile(r.PathValue("id"), r.PathValue("name"), volume, callerOf(r.Context()))
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	s.reply(w, http.StatusOK, struct{}{})
}

// putFile streams the body into a file. The body may arrive slowly, and is never completely in
// memory.
func (s *Server) putFile(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}

	executable, err := flag(r, "executable")
	volume, verr := flag(r, "volume")
	if err = cmp.Or(err, verr); err != nil {
		s.refuse(w, r, err)
		return
	}
	if r.ContentLength > int64(s.cfg.MaxFile) {
		s.refuse(w, r, tooLarge("file", s.cfg.MaxFile))
		return
	}

	body := &stallReader{
		body: http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxFile)), ctl: http.NewResponseController(w),
		stall: s.cfg.StallTimeout,
	}
	err = all.PutFile(r.PathValue("id"), r.PathValue("name"), volume, executable, body, callerOf(r.Context()))
	var over *http.MaxBytesError
	switch { // if the body could not be read, PutFile failed because of that
	case errors.As(body.err, &over):
		err = tooLarge("file", s.cfg.MaxFile)
	case body.err != nil:
		err = api.Refuse(api.CodeBadRequest,
			"the upload broke off before the end of the file, and nothing was stored: send it again")
	}

	if err != nil {
		s.refuse(w, r, err)
		return
	}

	s.reply(w, http.StatusOK, struct{}{})
}

// flag reads a parameter that is true or absent.
func flag(r *http.Request, name string) (bool, error) {
	switch r.URL.Query().Get(name) {
	case "":
		return false, nil
	case "true":
		return true, nil
	}
	return false, api.Refuse(api.CodeBadRequest, "%s must be true or absent", name)
}

// A stallReader reads a body that may arrive slowly. Read fails if nothing arrives for the time
// stall. err is the error that ended the body.
type stallReader struct {
	body  io.Reader
	ctl   *http.ResponseController
	stall time.Duration
	err   error
}

func (b *stallReader) Read(p []byte) (int, error) {
	_ = b.ctl.SetReadDeadline(time.Now().Add(b.stall)) // fails only if the connection is not one of net/http, as in a test
	n, err := b.body.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// getFile streams a file. If the session ends before the whole file is sent, getFile aborts the
// connection. Otherwise the client would believe that it has the whole file.
func (s *Server) getFile(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}

	volume, err := flag(r, "volume")
	var file io.ReadCloser
	if err == nil {
		file, err = all.OpenFile(r.PathValue("id"), r.PathValue("name"), volume, callerOf(r.Context()))
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer file.Close()

	w.Header().Set("Content-Type", "application/octet-stream")
	ctl := http.NewResponseController(w)
	part := make([]byte, 128<<10)
	for {
		n, err := file.Read(part)
		_ = ctl.SetWriteDeadline(time.Now().Add(s.cfg.StallTimeout))
		if _, werr := w.Write(part[:n]); werr != nil {
			return // the client is gone
		}
		switch {
		case err == io.EOF:
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	}
}
