package service

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/docs"
	"github.com/brig-sandbox/brig/service/openapi"
)

// routes returns all operations: those of the parts, and those about the service itself.
func (g *Gateway) routes() []openapi.Route {
	about := []openapi.Route{
		{Method: "POST", Path: "/v1/end", Name: "end", Agent: true, Fails: []int{409, 429}, Group: "Runs",
			Summary: "End all that has a label: runs, sessions, batches and temporary volumes",
			About: "It ends what this key has with labels.run, and answers when that has ended, with how many there " +
				"were. To end nothing is no error, so the request can be sent again.",
			Serve: g.postEnd, Body: reflect.TypeFor[api.EndRequest](), Example: map[string]any{"run": "4711"},
			Answer: reflect.TypeFor[api.Ended]()},
		{Method: "GET", Path: "/v1/languages", Name: "languages", Agent: true, Group: "About",
			Summary: "The languages that programs may be written in",
			Serve:   g.getLanguages, Answer: reflect.TypeFor[[]api.Language]()},
		{Method: "GET", Path: "/metrics", Name: "metrics", Group: "About", Summary: "Counters for Prometheus",
			About: "If the service has keys, only for keys with admin.",
			Serve: g.getMetrics, Kind: "text/plain"},
		{Method: "GET", Path: "/health", Name: "health", Group: "About", Summary: "The state of the service", Open: true,
			About: "If the service has keys, a caller without a key gets only the status.",
			Serve: g.getHealth, Answer: reflect.TypeFor[api.ServiceHealth]()},
		{Method: "GET", Path: "/health/live", Name: "live", Group: "About", Summary: "Whether the process answers", Open: true,
			Serve: g.live, Answer: reflect.TypeFor[healthWord]()},
		{Method: "GET", Path: "/health/ready", Name: "ready", Unavailable: reflect.TypeFor[healthWord](), Group: "About",
			Summary: "Whether the service accepts runs; 503 if not", Open: true,
			Serve: g.ready, Answer: reflect.TypeFor[healthWord]()},
	}
	return slices.Concat(g.runs.Routes(), g.links.Routes(), g.blobs.Routes(), g.problems.Routes(), g.batches.Routes(), g.sessions.Routes(),
		g.records.routes(), g.operator.Routes(), about)
}

// muxOf registers the routes and the documentation.
func (g *Gateway) muxOf(all []openapi.Route) *http.ServeMux {
	mux := http.NewServeMux()
	known := map[string]bool{}
	for _, one := range all {
		known[one.Method+" "+one.Path] = true
	}

	for _, one := range all {
		serve := func(w http.ResponseWriter, r *http.Request) {
			if err := g.handle(one, w, r); err != nil {
				g.core.Refuse(w, r, err)
			}
		}
		mux.HandleFunc(one.Method+" "+one.Path, serve)
		// A file route without a name is handled as an empty name, which is refused: the mux would
		// redirect.
		if bare, is := strings.CutSuffix(one.Method+" "+one.Path, "/{name...}"); is && !known[bare] {
			mux.HandleFunc(bare, serve)
		}
	}

	page := docs.Page(func(w http.ResponseWriter, r *http.Request) { g.core.Refuse(w, r, noPath(r)) })
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		core.SetWriteDeadline(w)
		page.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json")
		core.SetWriteDeadline(w)
		_, _ = w.Write(g.doc) // if the client has left, nobody needs the error
	})

	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		if err := g.postMCP(w, r); err != nil {
			g.core.Refuse(w, r, err)
		}
	})

	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusFound))
	mux.Handle("/ui/", g.page)
	mux.Handle("GET /ui", http.RedirectHandler("/ui/", http.StatusFound))
	mux.Handle("GET /{$}", http.RedirectHandler("/ui/", http.StatusFound))
	return mux
}

func (g *Gateway) handle(one openapi.Route, w http.ResponseWriter, r *http.Request) error {
	if !one.Open {
		authenticated, err := g.core.AuthenticateAPI(r)
		if err != nil {
			return err
		}

		r = authenticated
		if !core.IsAdmitted(r.Context()) {
			release, err := g.core.EnterRequest(core.CallerOf(r.Context()).Name)
			if err != nil {
				return err
			}
			defer release()
		}

		if err := one.CheckParams(r.URL.Query()); err != nil {
			return err
		}
	}

	if one.Body != nil && !one.Lines {
		if err := core.RequireJSON(r); err != nil {
			return err
		}
	}
	if one.Agent {
		a := g.core.NewAgentResponse(core.CallerOf(r.Context()).Name)
		defer a.Release()
		r = r.WithContext(a.WithQuota(r.Context()))
	}

	if one.ReadsMuch {
		with, release, err := g.core.AcquireRead(r)
		if err != nil {
			return err
		}
		defer release()
		r = with
	}

	err := one.Serve(w, r)
	if err == nil && one.Audit != "" {
		g.core.KeepAudit(context.WithoutCancel(r.Context()), api.AuditEntry{Time: time.Now().UTC(),
			By: core.CallerOf(r.Context()).Name, Action: one.Audit, Subject: r.URL.RequestURI()})
	}
	return err
}

// notFound answers requests that match no route, with the methods that the path supports.
func (g *Gateway) notFound(no http.Handler, w http.ResponseWriter, r *http.Request) {
	captured := capturedResponse{header: http.Header{}}
	no.ServeHTTP(&captured, r)
	if captured.status != http.StatusMethodNotAllowed {
		g.core.Refuse(w, r, noPath(r))
		return
	}
	allow := captured.header.Get("Allow")
	w.Header().Set("Allow", allow)
	g.core.Refuse(w, r, core.Problem(http.StatusMethodNotAllowed,
		api.Refuse(api.CodeBadRequest, "use %s for %.200q, not %.20s", allow, r.URL.Path, r.Method)))
}

func noPath(r *http.Request) error {
	return api.Refuse(api.CodeNotFound, "there is no %.200q here: /docs lists all paths", r.URL.Path)
}

// A capturedResponse captures the response of a ServeMux that has no handler.
type capturedResponse struct {
	header http.Header
	status int
}

func (f *capturedResponse) Header() http.Header         { return f.header }
func (f *capturedResponse) Write(p []byte) (int, error) { return len(p), nil }
func (f *capturedResponse) WriteHeader(status int)      { f.status = status }
