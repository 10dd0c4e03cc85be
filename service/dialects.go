package service

import (
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/runs"
)

// A DialectListener is a listener of its own for a dialect, whose paths begin at the root there: many clients cannot
// take a prefix.
type DialectListener struct {
	net.Listener
	Dialect dialect.Dialect
}

// bodyCopies is how often a request of a dialect is in memory in addition to its body: its fields, the run that is made
// of them, and what its base64 stands for.
const bodyCopies = 3

// A dialectHandler carries out what a dialect plans: it holds each request to the gates of brig's own API, executes the
// runs, and sends what the dialect tells.
type dialectHandler struct {
	*Gateway
	dialect.Dialect
	mux *http.ServeMux
}

func (g *Gateway) newDialectHandler(d dialect.Dialect) http.Handler {
	h := &dialectHandler{Gateway: g, Dialect: d, mux: http.NewServeMux()}
	for _, route := range d.Routes {
		wildcards := namesIn(route.Path)
		fail := d.Fail
		if route.Fail != nil {
			fail = route.Fail
		}
		h.mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) {
			if err := h.answer(route, wildcards, w, r); err != nil {
				h.refuse(w, r, fail, err)
			}
		})
	}
	return h
}

var wildcard = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\w+)`) })

// namesIn returns the names of the wildcards of a pattern.
func namesIn(pattern string) (names []string) {
	for _, m := range wildcard().FindAllStringSubmatch(pattern, -1) {
		names = append(names, m[1])
	}
	return names
}

// ServeHTTP handles one request.
func (h *dialectHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'") // as for brig's own API (API-11)
	err := connlimit.Admit(w, r)
	if errors.Is(err, net.ErrClosed) {
		return
	}
	if err == nil {
		err = h.core.CheckBrowser(r)
	}
	if err != nil {
		h.refuse(w, r, h.Fail, err)
		return
	}

	no, pattern := h.mux.Handler(r)
	if pattern != "" {
		h.mux.ServeHTTP(w, r)
		return
	}

	captured := capturedResponse{header: http.Header{}}
	no.ServeHTTP(&captured, r)
	if allow := captured.header.Get("Allow"); allow != "" {
		w.Header().Set("Allow", allow)
	}
	if captured.status != http.StatusMethodNotAllowed {
		captured.status = http.StatusNotFound
	}
	h.refuse(w, r, h.Fail, core.Problem(captured.status,
		api.Refuse(api.CodeNotFound, "%.20s %.200q is not one of the operations of %s that brig has", r.Method, r.URL.Path, h.Of)))
}

// answer answers a request of a route.
func (h *dialectHandler) answer(route dialect.Route, wildcards []string, w http.ResponseWriter, r *http.Request) error {
	ask := dialect.Request{Method: r.Method, Query: r.URL.Query(), Type: r.Header.Get("Content-Type"),
		Accept: r.Header.Get("Accept"), Nonce: rand.Text(), Path: map[string]string{}, Now: time.Now().UTC(),
		Token: h.sessions.Token, Header: headersOf(h.Headers, r)}
	for _, name := range wildcards {
		ask.Path[name] = r.PathValue(name)
	}
	if route.Open {
		return h.send(w, r, route.Plan(ask, dialect.Agent{}), dialect.Response{}, "")
	}

	if h.TokenKeys {
		r = withToken(r)
	}
	r, session, err := h.authenticate(route, ask, r)
	if err != nil {
		return err
	}

	key := core.CallerOf(r.Context()).Name
	leave, err := h.core.EnterRequest(key)
	if err != nil {
		return err
	}
	defer leave()

	health, languages, err := h.core.Agent.Get()
	if len(languages) == 0 { // it never answered: which languages it has is not known
		return api.Fail(api.CodeAgentUnreachable, "the agent has not listed its languages yet: %w", err)
	}

	quota := h.core.NewAgentResponse(key)
	defer quota.Release()
	r = r.WithContext(quota.WithQuota(r.Context()))

	on := dialect.Agent{Languages: languages, Ceiling: health.Ceiling, Slots: health.Slots, Waiting: h.core.Queue.Stats().Waiting,
		HostFiles: h.hostFiles != nil}
	plan, release, err := h.plan(route, ask, on, w, r)
	if err != nil {
		return err
	}
	defer func() { release() }()

	kept, there, err := h.files(r, plan)
	switch {
	case err != nil:
		return err
	case !there:
		plan.Answer = &plan.Missing
	case plan.List != nil:
		told := h.lists(r, plan)
		plan.Answer = &told
	case plan.Read != nil:
		told, err := h.read(r, plan, kept[0])
		if err != nil {
			return err
		}
		plan.Answer = &told
	}
	if plan.Answer != nil {
		return h.send(w, r, plan, dialect.Response{}, "")
	}

	if plan.Sessions != nil {
		return h.tellSessions(w, r, plan)
	}
	if plan.Kernels != nil {
		return h.tellKernels(w, r, plan)
	}

	free := func() { release(); release = func() {} } // when the request is no longer needed, however long the response takes
	if plan.Call != nil || plan.Upload != nil {
		return h.calls(w, r, plan, session, free)
	}
	if plan.Submit != nil || plan.Recall != nil {
		return h.tellStates(w, r, plan, free)
	}

	if plan.Batch != nil {
		return h.tellBatch(w, r, plan)
	}

	results, orders, err := h.execute(r, plan)
	if err != nil {
		return err
	}
	free()
	return h.tell(w, r, plan, results, orders)
}

// headersOf returns the headers of some names that a request has.
func headersOf(names []string, r *http.Request) map[string]string {
	found := map[string]string{}
	for _, name := range names {
		if v := r.Header.Get(name); v != "" {
			found[name] = v
		}
	}
	return found
}

// authenticate adds the caller to a request: by its key or, of a route of one session, by the token of that session. Of a
// client without a key, it returns the session as well, and nothing else is for that client.
func (h *dialectHandler) authenticate(route dialect.Route, ask dialect.Request, r *http.Request) (_ *http.Request, session string,
	err error) {
	for _, name := range h.KeyHeaders {
		if sent := r.Header.Get(name); h.Key != nil && sent != "" {
			r.Header.Set(name, h.Key(sent))
		}
	}
	with, err := h.core.Authenticate(r, h.KeyHeaders...)
	if err == nil || h.Token == nil || !route.OfSession {
		return with, "", err
	}
	id, proves := h.Token(ask)
	if id == "" || proves == nil {
		return nil, "", err
	}
	c, ok := h.sessions.CallerOfToken(id, proves)
	if !ok {
		return nil, "", err
	}
	return r.WithContext(core.WithCaller(r.Context(), c)), id, nil
}

// plan reads the body of a request and has the dialect decide what it asks for. Its memory is reserved until release is
// called.
func (h *dialectHandler) plan(route dialect.Route, ask dialect.Request, on dialect.Agent,
	w http.ResponseWriter, r *http.Request) (p dialect.Plan, release func(), err error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || route.NoBody || route.Upload {
		return route.Plan(ask, on), func() {}, nil
	}

	// A browser sends a form for a foreign page without asking the service first, as it does not for JSON. CheckBrowser has
	// refused that one by its Origin (API-11, TestAFormOfAForeignPage).
	if !route.Form && !route.AnyType && (route.Type == "" || route.Type != ask.Type) {
		if err := core.RequireJSON(r); err != nil {
			return p, nil, err
		}
	}

	maximum := min(h.core.Config.MaxBody, api.Size(h.core.MaxOfBody())/(bodyCopies+1))
	if r.ContentLength > int64(maximum) {
		return p, nil, bodyTooLarge(maximum)
	}

	raw, free, err := h.core.ReadBody(w, r)
	if err != nil {
		return p, nil, err
	}
	if len(raw) > int(maximum) {
		free()
		return p, nil, bodyTooLarge(maximum)
	}

	freeCopies, err := h.reserveCopies(r, raw, bodyCopies)
	if err != nil {
		free()
		return p, nil, err
	}
	release = func() { freeCopies(); free() }

	p, err = core.ParseBody(h.core, r.Context(), raw, func(raw []byte) (dialect.Plan, error) {
		ask.Body = raw
		return route.Plan(ask, on), nil
	})
	if err != nil {
		release()
	}
	return p, release, err
}

func bodyTooLarge(maximum api.Size) error {
	return api.Refuse(api.CodeTooLarge,
		"the request is larger than the %s that this service accepts: have the operator raise --max-body", maximum)
}

// execute executes the runs of a plan, in their order, until one fails because of brig. orders are those in which they
// wrote to their streams, if the plan asks for that.
func (h *dialectHandler) execute(r *http.Request, plan dialect.Plan) (results []api.Result, orders []dialect.Order, err error) {
	if plan.TellInOrder != nil {
		orders = make([]dialect.Order, len(plan.Runs))
	}
	for i, run := range plan.Runs {
		if from, fed := plan.Feeds[i]; fed {
			if results[from].StdoutTruncated {
				return nil, nil, api.Refuse(api.CodeTooLarge, "a command wrote more than %s into the pipe that another one reads, the most "+
					"that it may: let it write less", api.Size(len(results[from].Stdout)))
			}
			run.Stdin = results[from].Stdout
		}
		f := runs.Foreign{Dialect: h.Name, MaxWait: plan.MaxWait, Typed: plan.Typed[i]}
		if plan.TellInOrder != nil {
			f.Wrote = orders[i].Add
		}
		res, err := h.runs.ExecuteForeign(r, run, f)
		if err != nil {
			return nil, nil, err
		}
		results = append(results, res)
	}
	return results, orders, nil
}

// tell sends what the dialect tells of results. The copy of their contents that it makes is reserved before.
func (h *dialectHandler) tell(w http.ResponseWriter, r *http.Request, plan dialect.Plan, results []api.Result,
	orders []dialect.Order) error {
	run, content := "", int64(0)
	for _, res := range results {
		run, content = res.Run, content+int64(res.Content())
	}

	free, ok := h.core.Responses.Reserve(r.Context(), core.CallerOf(r.Context()).Name, content)
	if !ok {
		return core.NoQuotaError(run)
	}
	defer free()
	if plan.TellInOrder != nil {
		return h.send(w, r, plan, plan.TellInOrder(results, orders), run)
	}
	return h.send(w, r, plan, plan.Tell(results), run)
}

// send sends the answer that a plan has, or else the response. The files that it has to keep are kept by then.
func (h *dialectHandler) send(w http.ResponseWriter, r *http.Request, plan dialect.Plan, told dialect.Response, run string) error {
	if plan.Answer != nil {
		told = *plan.Answer
	}
	if err := h.keep(r, told.Keep); err != nil {
		return err
	}
	for _, id := range told.Forget {
		h.kept.Forget(core.CallerOf(r.Context()), h.Name, id)
	}

	h.setHeaders(w, told)
	if err := h.core.ReplyBytes(w, r, told.Status, told.Body, run); err != nil {
		h.forget(r, told.Keep) // nobody knows their ids
		return err
	}
	h.core.Metrics.DialectAnswered(h.Name, told.Status, plan.UnknownFields)
	return nil
}

func (h *dialectHandler) setHeaders(w http.ResponseWriter, told dialect.Response) {
	for name, value := range told.Header {
		w.Header().Set(name, value)
	}
}

// refuse answers with an error in the words of the dialect, which fail finds.
func (h *dialectHandler) refuse(w http.ResponseWriter, r *http.Request,
	fail func(*api.Problem, dialect.Word) dialect.Response, err error) {
	p := h.core.Refusal(w, r, err)
	if p == nil {
		return
	}

	told := fail(p, dialect.FailureOf(h.Name, p))
	h.core.Metrics.DialectAnswered(h.Name, told.Status, 0)
	h.setHeaders(w, told)
	core.SetWriteDeadline(w)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(told.Status)
	_, _ = w.Write(told.Body) // if the client has left, nobody needs the error
}
