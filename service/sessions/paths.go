package sessions

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Files of sessions by their absolute paths. The agent reads and changes them with the rights of the session's
// programs, so nothing is checked here but whose session it is, and the form of the request.

// ownPaths returns the files of a session that belongs to the caller, and the path that the request names.
func (ss *Sessions) ownPaths(r *http.Request, name string) (client.Paths, string, error) {
	id := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, id); err != nil {
		return client.Paths{}, "", err
	}
	path, err := api.CleanPath(r.URL.Query().Get(name))
	return ss.Config.Agent.Paths(id), path, err
}

// onOwnPath calls one operation on a path, and answers with what it returns, or, if that is nil, without a body.
func (ss *Sessions) onOwnPath(w http.ResponseWriter, r *http.Request, name string,
	do func(p client.Paths, path string, q url.Values) (any, error)) error {
	p, path, err := ss.ownPaths(r, name)
	if err != nil {
		return err
	}
	answer, err := do(p, path, r.URL.Query())
	switch {
	case err != nil:
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), err)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		ss.Reply(w, r, http.StatusOK, answer)
	}
	return nil
}

func (ss *Sessions) pathStatus(w http.ResponseWriter, r *http.Request) error {
	return ss.onOwnPath(w, r, "path", func(p client.Paths, path string, q url.Values) (any, error) {
		follow, err := core.Flag(q, "follow")
		if err != nil {
			return nil, err
		}
		return p.Status(r.Context(), path, follow)
	})
}

func (ss *Sessions) listPath(w http.ResponseWriter, r *http.Request) error {
	return ss.onOwnPath(w, r, "path", func(p client.Paths, path string, q url.Values) (any, error) {
		l := api.PathListing{After: q.Get("after")}
		for name, to := range map[string]*int{"depth": &l.Depth, "limit": &l.Limit} {
			if text := q.Get(name); text != "" {
				n, err := strconv.Atoi(text)
				if err != nil || n < 1 {
					return nil, api.Refuse(api.CodeBadRequest, "%s must be a positive whole number, or absent", name)
				}
				*to = n
			}
		}
		return p.List(r.Context(), path, l) // which checks the bounds
	})
}

func (ss *Sessions) makePathDir(w http.ResponseWriter, r *http.Request) error {
	return ss.onOwnPath(w, r, "path", func(p client.Paths, path string, q url.Values) (any, error) {
		return p.MakeDir(r.Context(), path, q.Get("mode"))
	})
}

func (ss *Sessions) linkPath(w http.ResponseWriter, r *http.Request) error {
	return ss.onOwnPath(w, r, "path", func(p client.Paths, path string, q url.Values) (any, error) {
		target, err := api.LinkTarget(q.Get("target"))
		if err != nil {
			return nil, err
		}
		return nil, p.Link(r.Context(), path, target)
	})
}

func (ss *Sessions) movePath(w http.ResponseWriter, r *http.Request) error {
	return ss.onOwnPath(w, r, "from", func(p client.Paths, from string, q url.Values) (any, error) {
		to, err := api.CleanPath(q.Get("to"))
		if err != nil {
			return nil, err
		}
		replace, err := core.Flag(q, "replace")
		if err != nil {
			return nil, err
		}
		return nil, p.Move(r.Context(), from, to, replace)
	})
}

func (ss *Sessions) removePath(w http.ResponseWriter, r *http.Request) error {
	return ss.onOwnPath(w, r, "path", func(p client.Paths, path string, q url.Values) (any, error) {
		recursive, err := core.Flag(q, "recursive")
		if err != nil {
			return nil, err
		}
		return nil, p.Remove(r.Context(), path, recursive)
	})
}

func (ss *Sessions) putPath(w http.ResponseWriter, r *http.Request) error {
	p, path, err := ss.ownPaths(r, "path")
	if err != nil {
		return err
	}
	body, err := ss.LimitedBody(w, r, ss.Config.MaxBlob)
	if err != nil {
		return err
	}
	defer body.Release()

	if err := p.Put(r.Context(), path, r.URL.Query().Get("mode"), body); err != nil {
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), body.Reason(err))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getPath sends a file, or the part of it that the header Range asks for. As getFile it sends no name, and no
// browser treats the file as a page of this service (API-23).
func (ss *Sessions) getPath(w http.ResponseWriter, r *http.Request) error {
	p, path, err := ss.ownPaths(r, "path")
	if err != nil {
		return err
	}
	release, err := ss.TransferSlot(r)
	if err != nil {
		return err
	}
	defer release()

	out := &partResponse{FileResponse: core.FileResponse{W: w}, head: r.Method == http.MethodHead}
	offset, length, ranged := parseRange(r.Header.Get("Range"))
	if out.ranged = ranged; !ranged {
		offset, length = 0, -1
	}
	if out.head {
		length = 0
	}
	err = p.Get(r.Context(), path, offset, length, out.begin, out)
	switch {
	case err != nil && !out.HeadersSent:
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), err)
	case err != nil:
		ss.Log.Warn("transfer of a file failed", "session", r.PathValue("id"), "err", err)
		panic(http.ErrAbortHandler) // the status is sent already: the broken connection tells the client
	}
	return nil
}

// A partResponse is a FileResponse that says which part of a file it has.
type partResponse struct {
	core.FileResponse
	ranged, head bool
}

// begin sends the header.
func (p *partResponse) begin(part api.Part) error {
	h := p.W.Header()
	h.Set("Accept-Ranges", "bytes")
	of := strconv.FormatInt(part.Size, 10)
	status, length := http.StatusOK, part.Length
	switch {
	case p.head:
		length = part.Size
	case p.ranged && part.Length == 0:
		h.Set("Content-Range", "bytes */"+of)
		return core.Problem(http.StatusRequestedRangeNotSatisfiable,
			api.Refuse(api.CodeBadRequest, "the file has %s bytes, and none of the range that was asked for", of))
	case p.ranged:
		status = http.StatusPartialContent
		h.Set("Content-Range", "bytes "+strconv.FormatInt(part.Offset, 10)+"-"+
			strconv.FormatInt(part.Offset+part.Length-1, 10)+"/"+of)
	}
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	p.Send(status)
	return nil
}

// parseRange reads a header Range of one range. Others, and headers that make no sense, are ignored, as RFC 9110
// permits: the whole file is sent.
func parseRange(header string) (offset, length int64, is bool) {
	text, is := strings.CutPrefix(header, "bytes=")
	first, last, dash := strings.Cut(text, "-")
	if !is || !dash || strings.Contains(text, ",") {
		return 0, 0, false
	}

	number := func(text string) (int64, error) {
		n, err := strconv.ParseUint(text, 10, 62)
		if errors.Is(err, strconv.ErrRange) {
			return 1<<62 - 1, nil
		}
		return int64(n), err
	}
	if first == "" { // so many from the end
		n, err := number(last)
		if n == 0 {
			return 0, 0, err == nil
		}
		return -n, -1, err == nil
	}
	offset, err := number(first)
	if err != nil {
		return 0, 0, false
	}
	if last == "" {
		return offset, -1, true
	}
	end, err := number(last)
	if err != nil || end < offset {
		return 0, 0, false
	}
	return offset, end - offset + 1, true
}
