package service

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A dialect may ask for requests of brig's own API. They are carried out as those of a client with the same key, so that
// each passes the same gates: it is admitted, bounded and recorded.

const (
	maxCalls = 64           // of one request; a plan that wants more is a fault of its dialect
	maxReply = 32 * api.MiB // that is in memory as a whole
	maxLine  = 16 * api.MiB // of a stream
	maxParts = 1000         // of a form with files
	partHead = "form-data"  // what the parts of such a form are
)

// calls carries the calls of a plan out, one after the other, until there is an answer.
func (h *dialectHandler) calls(w http.ResponseWriter, r *http.Request, plan dialect.Plan, session string, free func()) error {
	to := &inProcess{core: h.core, handler: h.Gateway, caller: r, dialect: h.Name, as: new(core.Caller)}
	*to.as = core.CallerOf(r.Context())
	for range maxCalls {
		switch {
		case plan.Answer != nil:
			return h.send(w, r, plan, dialect.Response{}, "")
		case plan.Upload != nil:
			return h.upload(w, r, to, plan, session)
		case plan.Call == nil:
			return errors.New("the dialect asks for nothing")
		case plan.Stream != nil:
			return h.stream(w, r, to, plan, session, free)
		}

		reply, err := h.call(r.Context(), to, *plan.Call, session)
		if err != nil {
			return err
		}
		plan = plan.Then(reply)
	}
	return errors.New("the dialect asks for too many calls")
}

// request makes the request of a call. A client that has the token of a session asks for nothing else.
func request(ctx context.Context, c dialect.Call, body io.Reader, session string) (*http.Request, error) {
	path, _, _ := strings.Cut(c.Path, "?")
	if session != "" && !strings.HasPrefix(path+"/", "/v1/sessions/"+session+"/") {
		return nil, api.Refuse(api.CodeForbidden, "the token of session %.80q does not permit this: use a key", session)
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, "http://localhost"+c.Path, body)
	if err != nil {
		return nil, api.Refuse(api.CodeBadRequest, "a name in the request cannot be a part of a path: %w", err)
	}
	if c.Type != "" {
		req.Header.Set("Content-Type", c.Type)
	} else if c.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// do sends a call. problem is brig's refusal.
func do(ctx context.Context, to *inProcess, c dialect.Call, body io.Reader,
	session string) (res *http.Response, problem *api.Problem, err error) {
	req, err := request(ctx, c, body, session)
	if err != nil {
		return nil, nil, err
	}
	if res, err = to.RoundTrip(req); err != nil {
		return nil, nil, err
	}
	if res.StatusCode < 400 {
		return res, nil, nil
	}

	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, int64(api.MiB)))
	if err != nil {
		return nil, nil, err
	}
	problem = new(api.Problem)
	if err := json.Unmarshal(raw, problem); err != nil {
		return nil, nil, err
	}
	return nil, problem, nil
}

// call carries out one call. Its reply is counted in the memory for responses while it is made.
func (h *dialectHandler) call(ctx context.Context, to *inProcess, c dialect.Call, session string) (dialect.Reply, error) {
	res, problem, err := do(ctx, to, c, bytes.NewReader(c.Body), session)
	if err != nil || problem != nil {
		return dialect.Reply{Problem: problem}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, int64(maxReply)+1))
	switch {
	case err != nil:
		return dialect.Reply{}, err
	case len(raw) > int(maxReply):
		return dialect.Reply{}, api.Refuse(api.CodeTooLarge, "the answer is larger than %s: ask for less", maxReply)
	}
	return dialect.Reply{Body: raw}, nil
}

// refuseCall answers that brig has refused a call.
func (h *dialectHandler) refuseCall(w http.ResponseWriter, r *http.Request, p *api.Problem,
	refused func(*api.Problem) dialect.Response) error {
	if refused == nil {
		return p
	}
	told := refused(p)
	return h.send(w, r, dialect.Plan{Answer: &told}, told, "")
}

// stream passes the reply to a call on while it arrives. A client that reads slowly holds it back.
func (h *dialectHandler) stream(w http.ResponseWriter, r *http.Request, to *inProcess, plan dialect.Plan, session string,
	free func()) error {
	res, problem, err := do(r.Context(), to, *plan.Call, bytes.NewReader(plan.Call.Body), session)
	if err != nil {
		return err
	}
	if problem != nil {
		return h.refuseCall(w, r, problem, plan.Stream.Refused)
	}
	defer res.Body.Close()
	free() // the request is no longer needed

	s := plan.Stream
	h.setHeaders(w, s.Head)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	if length := res.Header.Get("Content-Length"); length != "" && s.Line == nil {
		w.Header().Set("Content-Length", length)
	}
	core.SetWriteDeadline(w)
	w.WriteHeader(s.Head.Status)
	h.core.Metrics.DialectAnswered(h.Name, s.Head.Status, plan.UnknownFields)

	out := core.NewLineStream(w)
	if _, err := out.Write(s.Head.Body); err != nil || out.Flush() != nil {
		return nil // the client has left
	}
	if s.Line == nil {
		if _, err := io.Copy(out, res.Body); err != nil {
			panic(http.ErrAbortHandler) // the status is sent already: the broken connection tells the client
		}
		return nil
	}

	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, int(maxLine))
	for lines.Scan() {
		piece := s.Line(lines.Bytes())
		if piece.Broken || piece.IfAlive && !h.alive(r.Context(), plan.Call.Path) {
			panic(http.ErrAbortHandler)
		}
		if len(piece.Out) > 0 {
			if _, err := out.Write(piece.Out); err != nil || out.Flush() != nil {
				return nil
			}
		}
		if piece.Last {
			return nil
		}
	}
	panic(http.ErrAbortHandler) // the reply was not complete
}

// alive reports whether the session of a path has not ended.
func (h *dialectHandler) alive(ctx context.Context, path string) bool {
	id, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/sessions/"), "/")
	_, err := h.sessions.Session(ctx, id)
	return err == nil
}

// upload has the files of a body written while it arrives.
func (h *dialectHandler) upload(w http.ResponseWriter, r *http.Request, to *inProcess, plan dialect.Plan, session string) error {
	u := plan.Upload
	body := io.Reader(&livingBody{w: w, in: r.Body})
	if u.Gzip {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return api.Refuse(api.CodeBadRequest, "the body is not compressed with gzip, as Content-Encoding says: %w", err)
		}
		body = unpacked // the call that writes it bounds what it has (TestUploadsAreBounded)
	}
	if u.One != nil {
		_, problem, err := finish(do(r.Context(), to, *u.One, body, session))
		switch {
		case err != nil:
			return err
		case problem != nil:
			return h.refuseCall(w, r, problem, u.Refused)
		}
		return h.send(w, r, plan, u.Done([]dialect.Call{*u.One}), "")
	}

	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || parameters["boundary"] == "" {
		return api.Refuse(api.CodeBadRequest, "the body must be a form with files (multipart/form-data)")
	}
	form := multipart.NewReader(body, parameters["boundary"])
	var all []dialect.Call
	for range maxParts {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return h.send(w, r, plan, u.Done(all), "")
		}
		if err != nil {
			return api.Refuse(api.CodeBadRequest, "the form ended early: %w", err)
		}
		kind, names, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil || kind != partHead {
			return api.Refuse(api.CodeBadRequest, "a part of the form has no name: %w", err)
		}
		one, refusal := u.Each(names["name"], names["filename"])
		switch {
		case refusal != nil:
			return h.send(w, r, dialect.Plan{Answer: refusal}, *refusal, "")
		case one == nil:
			continue
		}
		_, problem, err := finish(do(r.Context(), to, *one, part, session))
		switch {
		case err != nil:
			return err
		case problem != nil:
			return h.refuseCall(w, r, problem, u.Refused)
		}
		all = append(all, *one)
	}
	return api.Refuse(api.CodeTooLarge, "the form has more than %d parts: send it in several requests", maxParts)
}

// finish reads the rest of a reply that nobody needs.
func finish(res *http.Response, problem *api.Problem, err error) (*http.Response, *api.Problem, error) {
	if res != nil {
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close() // it is that of a pipe
	}
	return res, problem, err
}

// A livingBody is the body of a request whose client must go on sending it.
type livingBody struct {
	w  http.ResponseWriter
	in io.Reader
}

func (b *livingBody) Read(p []byte) (int, error) {
	// fails only if the connection is closed
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Now().Add(core.SlowClientTimeout))
	return b.in.Read(p)
}
