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

	// Nobody needs a session of an agent that stops: a request that waits for room does not delay the end.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ends, cancel)()

	caller := callerOf(r.Context())
	made, err := s.create(ctx, all, request, waitOf(r), caller)
	if err != nil && s.isStopping() {
		err = api.Fail(api.CodeStopping, "the agent is stopping: make the session again later")
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	s.reply(w, http.StatusCreated, made)

	// If the answer cannot be sent, nobody knows the session's id. What is sent before the client closes its
	// connection, the client can still read: see Client.CreateSession.
	if err := http.NewResponseController(w).Flush(); err != nil {
		if err := all.Delete(made.ID, caller); err != nil && !api.HasCode(err, api.CodeSessionEnded) {
			s.log.Error("a session whose caller has left was not ended", "session", made.ID, "err", err)
		}
	}
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

// setLife changes when a session ends.
func (s *Server) setLife(w http.ResponseWriter, r *http.Request) {
	ask, err := parse(s, w, r, "life", func(raw []byte) (api.LifeRequest, error) {
		return decode.Value[api.LifeRequest](raw, "life")
	})
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.replySession(w, r, func(all Sessions, id string, c api.Caller) (api.Session, error) {
		if err := ask.Validate(); err != nil {
			return api.Session{}, err
		}
		return all.SetLife(id, ask, c)
	})
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
	s.answerRun(w, r, request.Limits.Wall, s.keeping(request.Collect,
		func(ctx context.Context, io api.Streams, c api.Caller) (api.Result, error) {
			return all.Exec(ctx, r.PathValue("id"), request, io, c)
		}))
}

// maxResidentBody is the size of the largest body of an exec that stays without a slot, for hours: a few with large
// requests would take the memory that all requests share (TTY-12, TestResidentsHoldLittleMemory).
const maxResidentBody = 64 * api.KiB

func (s *Server) readExec(w http.ResponseWriter, r *http.Request) (request api.Exec, err error) {
	size := api.Size(0)
	if request, err = parse(s, w, r, "exec", func(raw []byte) (api.Exec, error) {
		size = api.Size(len(raw))
		return decode.Value[api.Exec](raw, "exec")
	}); err != nil {
		return request, err
	}
	if request.StaysWithoutSlot() && size > maxResidentBody {
		return request, api.Refuse(api.CodeTooLarge, "the request has %s, and one for a terminal or a resident of a session at most "+
			"%s, because its memory is held as long as that runs: put files into the session first (brig session put)", size, maxResidentBody)
	}
	if err := checkUpgrade(r, len(request.Stdin) > 0, request.RefuseUnstreamed); err != nil {
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

	body := s.uploadOf(w, r)
	err = all.PutFile(r.PathValue("id"), r.PathValue("name"), volume, executable, body, callerOf(r.Context()))
	if err = body.reason(err, s.cfg.MaxFile); err != nil {
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

// uploadOf returns the body of a request that writes a file.
func (s *Server) uploadOf(w http.ResponseWriter, r *http.Request) *stallReader {
	return &stallReader{
		body: http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxFile)), ctl: http.NewResponseController(w),
		stall: s.cfg.StallTimeout,
	}
}

// reason returns why a file could not be written: if its body could not be read, because of that.
func (b *stallReader) reason(err error, maximum api.Size) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(b.err, &over):
		return tooLarge("file", maximum)
	case b.err != nil:
		return api.Refuse(api.CodeBadRequest,
			"the upload broke off before the end of the file, and nothing was stored: send it again")
	}
	return err
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
	s.sendContent(w, file)
}

// sendContent streams content. If it cannot be read to its end, sendContent aborts the connection.
func (s *Server) sendContent(w http.ResponseWriter, content io.Reader) {
	w.Header().Set("Content-Type", "application/octet-stream")
	ctl := http.NewResponseController(w)
	part := make([]byte, 128<<10)
	for {
		n, err := content.Read(part)
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
