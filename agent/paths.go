package agent

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/brig-sandbox/brig/api"
)

// Paths works on the files of sessions by their absolute paths, with the rights of the session's programs.
// The methods may be called from many goroutines; if their error contains an *api.Error, the caller
// gets that. Paths have been checked and cleaned (api.CleanPath).
type Paths interface {
	// Status describes a link itself, or with follow what it leads to.
	Status(ctx context.Context, id, path string, follow bool, c api.Caller) (api.PathStatus, error)
	// List ends when ctx does. hold is as api.Memory.Keep.
	List(ctx context.Context, id, path string, l api.PathListing, hold func(bytes int64) error, c api.Caller) (api.PathList, error)
	// Open opens a regular file: length bytes from offset on, or if offset is negative, so many from the end. A
	// negative length is all that follows.
	Open(ctx context.Context, id, path string, offset, length int64, c api.Caller) (api.PathContent, error)
	// Put replaces the file by content, completely or not at all. mode may be nil.
	Put(ctx context.Context, id, path string, mode *uint32, content io.Reader, c api.Caller) error
	MakeDir(ctx context.Context, id, path string, mode *uint32, c api.Caller) (api.PathMade, error)
	Link(ctx context.Context, id, path, target string, c api.Caller) error
	Move(ctx context.Context, id, from, to string, replace bool, c api.Caller) error
	Remove(ctx context.Context, id, path string, recursive bool, c api.Caller) error
}

// pathRoutes are the operations on absolute paths. Each handler decodes, and calls one method.
func (s *Server) pathRoutes(mux *http.ServeMux) {
	for pattern, h := range map[string]pathHandler{
		"GET /v1/sessions/{id}/fs":         s.pathStatus,
		"DELETE /v1/sessions/{id}/fs":      s.removePath,
		"GET /v1/sessions/{id}/fs/list":    s.listPath,
		"GET /v1/sessions/{id}/fs/content": s.getPath,
		"PUT /v1/sessions/{id}/fs/content": s.putPath,
		"POST /v1/sessions/{id}/fs/mkdir":  s.makeDir,
		"POST /v1/sessions/{id}/fs/link":   s.linkPath,
		"POST /v1/sessions/{id}/fs/move":   s.movePath,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if s.cfg.Paths == nil {
				s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent keeps no sessions"))
				return
			}
			q := r.URL.Query()
			name := "path"
			if q.Has("from") {
				name = "from"
			}
			at := pathCall{query: q, id: r.PathValue("id"), caller: callerOf(r.Context())}
			path, err := api.CleanPath(q.Get(name))
			if err == nil {
				at.path = path
				err = h(w, r, at)
			}
			if err != nil {
				s.refuse(w, r, err)
			}
		})
	}
}

// A pathCall is what every request for a path has.
type pathCall struct {
	query    url.Values
	id, path string
	caller   api.Caller
}

// A pathHandler answers a request, or returns an error before it has answered.
type pathHandler func(w http.ResponseWriter, r *http.Request, at pathCall) error

func (s *Server) pathStatus(w http.ResponseWriter, r *http.Request, at pathCall) error {
	follow, err := flag(r, "follow")
	if err != nil {
		return err
	}
	st, err := s.cfg.Paths.Status(r.Context(), at.id, at.path, follow, at.caller)
	if err == nil {
		s.reply(w, http.StatusOK, st)
	}
	return err
}

func (s *Server) listPath(w http.ResponseWriter, r *http.Request, at pathCall) error {
	l, err := listing(at)
	if err != nil {
		return err
	}
	found, err := s.cfg.Paths.List(r.Context(), at.id, at.path, l, reservationOf(r.Context()).Keep, at.caller)
	if err == nil {
		found.Entries = nonNil(found.Entries)
		s.reply(w, http.StatusOK, found)
	}
	return err
}

// listing reads what to list, and checks its bounds.
func listing(at pathCall) (l api.PathListing, err error) {
	depth, err := number(at.query, "depth", 1, 1, api.PathListDepth)
	if err != nil {
		return l, err
	}
	limit, err := number(at.query, "limit", api.PathListDefault, 1, api.PathListMax)
	if err != nil {
		return l, err
	}
	l.Depth, l.Limit = int(depth), int(limit)
	if after := at.query.Get("after"); after != "" {
		l.After, err = api.ParseCursor(after, at.path)
	}
	return l, err
}

// number reads a parameter that is a number or absent.
func number(q url.Values, name string, absent, minimum, maximum int64) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < minimum || n > maximum {
		return 0, api.Refuse(api.CodeBadRequest, "%s must be a whole number from %s to %s, or absent", name,
			strconv.FormatInt(minimum, 10), strconv.FormatInt(maximum, 10))
	}
	return n, nil
}

// mode reads the mode of a file or directory to make; nil: the request has none.
func mode(q url.Values) (*uint32, error) {
	text := q.Get("mode")
	if text == "" {
		return nil, nil //nolint:nilnil // absent
	}
	m, err := api.ParseMode(text)
	return &m, err
}

// maxOffset bounds positions in a file. Larger ones are in no file system.
const maxOffset = 1 << 62

// getPath streams a part of a file. If fewer bytes come than its header says, because a program has shortened
// the file or the session ends, the connection is aborted.
func (s *Server) getPath(w http.ResponseWriter, r *http.Request, at pathCall) error {
	offset, err := number(at.query, "offset", 0, -maxOffset, maxOffset)
	if err != nil {
		return err
	}
	length, err := number(at.query, "length", -1, 0, maxOffset)
	if err != nil {
		return err
	}

	content, err := s.cfg.Paths.Open(r.Context(), at.id, at.path, offset, length, at.caller)
	if err != nil {
		return err
	}
	defer content.Body.Close()

	h := w.Header()
	h.Set("Content-Length", strconv.FormatInt(content.Length, 10))
	h.Set(api.PartHeader, api.Part{Offset: content.Offset, Length: content.Length, Size: content.Status.Size}.String())
	counted := &countedReader{Reader: content.Body}
	s.sendContent(w, counted)
	if counted.n != content.Length {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// A countedReader counts the bytes that were read.
type countedReader struct {
	io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// putPath streams the body into a file, as putFile does.
func (s *Server) putPath(w http.ResponseWriter, r *http.Request, at pathCall) error {
	as, err := mode(at.query)
	if err != nil {
		return err
	}
	if r.ContentLength > int64(s.cfg.MaxFile) {
		return tooLarge("file", s.cfg.MaxFile)
	}
	body := s.uploadOf(w, r)
	err = body.reason(s.cfg.Paths.Put(r.Context(), at.id, at.path, as, body, at.caller), s.cfg.MaxFile)
	if err == nil {
		s.reply(w, http.StatusOK, struct{}{})
	}
	return err
}

func (s *Server) makeDir(w http.ResponseWriter, r *http.Request, at pathCall) error {
	as, err := mode(at.query)
	if err != nil {
		return err
	}
	made, err := s.cfg.Paths.MakeDir(r.Context(), at.id, at.path, as, at.caller)
	if err == nil {
		s.reply(w, http.StatusOK, made)
	}
	return err
}

func (s *Server) linkPath(w http.ResponseWriter, r *http.Request, at pathCall) error {
	target, err := api.LinkTarget(at.query.Get("target"))
	if err == nil {
		err = s.cfg.Paths.Link(r.Context(), at.id, at.path, target, at.caller)
	}
	if err == nil {
		s.reply(w, http.StatusOK, struct{}{})
	}
	return err
}

func (s *Server) movePath(w http.ResponseWriter, r *http.Request, at pathCall) error {
	to, err := api.CleanPath(at.query.Get("to"))
	if err != nil {
		return err
	}
	replace, err := flag(r, "replace")
	if err != nil {
		return err
	}
	if err = s.cfg.Paths.Move(r.Context(), at.id, at.path, to, replace, at.caller); err == nil {
		s.reply(w, http.StatusOK, struct{}{})
	}
	return err
}

func (s *Server) removePath(w http.ResponseWriter, r *http.Request, at pathCall) error {
	recursive, err := flag(r, "recursive")
	if err != nil {
		return err
	}
	if err = s.cfg.Paths.Remove(r.Context(), at.id, at.path, recursive, at.caller); err == nil {
		s.reply(w, http.StatusOK, struct{}{})
	}
	return err
}
