package agent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// sessions answers the request itself when it may not go on.
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
	ask, err := parse(s, w, r, "session", func(raw []byte) (api.SessionRequest, error) { return api.Parse[api.SessionRequest](raw, "session") })
	if err == nil {
		err = ask.Validate()
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	made, err := all.Create(r.Context(), ask, callerOf(r.Context()))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusCreated, made)
}

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request) {
	if all := s.sessions(w, r); all != nil {
		s.reply(w, http.StatusOK, list(all.List(callerOf(r.Context()))))
	}
}

func (s *Server) getSession(w http.ResponseWriter, r *http.Request) {
	s.tellSession(w, r, Sessions.Get)
}

// useSession is for one who wants something of the session that cannot begin yet.
func (s *Server) useSession(w http.ResponseWriter, r *http.Request) {
	s.tellSession(w, r, Sessions.Use)
}

func (s *Server) tellSession(w http.ResponseWriter, r *http.Request, tell func(Sessions, string, Caller) (api.Session, error)) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}
	one, err := tell(all, r.PathValue("id"), callerOf(r.Context()))
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

// execInSession answers in the form that the request asks for, as a run does.
func (s *Server) execInSession(w http.ResponseWriter, r *http.Request) {
	all := s.sessions(w, r)
	if all == nil {
		return
	}
	ask, err := s.readExec(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.carryOut(w, r, ask.Limits.Wall, func(ctx context.Context, io Streams, c Caller) (api.Result, error) {
		return all.Exec(ctx, r.PathValue("id"), ask, io, c)
	})
}

func (s *Server) readExec(w http.ResponseWriter, r *http.Request) (ask api.Exec, err error) {
	if ask, err = parse(s, w, r, "exec", func(raw []byte) (api.Exec, error) { return api.Parse[api.Exec](raw, "exec") }); err != nil {
		return ask, err
	}
	if err := upgrades(r, len(ask.Stdin) > 0); err != nil {
		return ask, err
	}
	return ask, ask.Validate()
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
	found, err := all.ListFiles(r.Context(), r.PathValue("id"), r.URL.Query().Get("dir"), volume, holdingOf(r.Context()).read, callerOf(r.Context()))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	found.Files = list(found.Files)
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

// putFile streams the body into a file: it may be slow, and is never held whole.
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
	body := &source{
		body: http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxFile)), ctl: http.NewResponseController(w), stall: s.cfg.Stall,
	}
	err = all.PutFile(r.PathValue("id"), r.PathValue("name"), volume, executable, body, callerOf(r.Context()))
	var over *http.MaxBytesError
	switch { // what was read badly was not kept, and that is the reason
	case errors.As(body.err, &over):
		err = tooLarge("file", s.cfg.MaxFile)
	case body.err != nil:
		err = api.Refuse(api.CodeBadRequest, "the file broke off before its end, and nothing of it was kept: send it again")
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, struct{}{})
}

// flag reads a parameter that is true or left out.
func flag(r *http.Request, name string) (bool, error) {
	switch r.URL.Query().Get(name) {
	case "":
		return false, nil
	case "true":
		return true, nil
	}
	return false, api.Refuse(api.CodeBadRequest, "%s is to be true, or left out", name)
}

// A source is a body that may take its time as long as some of it comes, and notes
// how it broke off.
type source struct {
	body  io.Reader
	ctl   *http.ResponseController
	stall time.Duration
	err   error
}

func (b *source) Read(p []byte) (int, error) {
	_ = b.ctl.SetReadDeadline(time.Now().Add(b.stall)) // fails only on a connection that is not net/http's own, as in a test
	n, err := b.body.Read(p)
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// getFile streams a file. When its session ends meanwhile the connection breaks, so
// that nobody takes a part for the whole.
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
		_ = ctl.SetWriteDeadline(time.Now().Add(s.cfg.Stall))
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
