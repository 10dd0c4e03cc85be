package service

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// routes returns all operations: those of the parts, and those about the service itself.
func (g *Gateway) routes() []route {
	about := []route{
		{method: "GET", path: "/v1/languages", name: "languages", agent: true, group: "About",
			summary: "The languages that programs may be written in",
			serve:   g.getLanguages, answer: reflect.TypeFor[[]api.Language]()},
		{method: "GET", path: "/metrics", name: "metrics", group: "About", summary: "Counters for Prometheus",
			about: "If the service has keys, only for keys with admin.",
			serve: g.getMetrics, kind: "text/plain"},
		{method: "GET", path: "/health", name: "health", group: "About", summary: "The state of the service", open: true,
			about: "If the service has keys, a caller without a key gets only the status.",
			serve: g.getHealth, answer: reflect.TypeFor[api.ServiceHealth]()},
		{method: "GET", path: "/health/live", name: "live", group: "About", summary: "Whether the process answers", open: true,
			serve: g.live, answer: reflect.TypeFor[healthWord]()},
		{method: "GET", path: "/health/ready", name: "ready", unavailable: reflect.TypeFor[healthWord](), group: "About",
			summary: "Whether the service accepts runs; 503 if not", open: true,
			serve: g.ready, answer: reflect.TypeFor[healthWord]()},
	}
	return slices.Concat(g.runs.routes(), g.blobs.routes(), g.problems.routes(), g.batches.routes(), g.sessions.routes(),
		g.records.routes(), about)
}

// muxOf registers the routes and the documentation.
func (g *Gateway) muxOf(all []route) *http.ServeMux {
	mux := http.NewServeMux()
	known := map[string]bool{}
	for _, one := range all {
		known[one.method+" "+one.path] = true
	}

	for _, one := range all {
		serve := func(w http.ResponseWriter, r *http.Request) {
			if err := g.handle(one, w, r); err != nil {
				g.refuse(w, r, err)
			}
		}
		mux.HandleFunc(one.method+" "+one.path, serve)
		// A file route without a name is handled as an empty name, which is refused: the mux would
		// redirect.
		if bare, is := strings.CutSuffix(one.method+" "+one.path, "/{name...}"); is && !known[bare] {
			mux.HandleFunc(bare, serve)
		}
	}

	page := Page(func(w http.ResponseWriter, r *http.Request) { g.refuse(w, r, noPath(r)) })
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		setWriteDeadline(w)
		page.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json")
		setWriteDeadline(w)
		_, _ = w.Write(g.doc) // if the client has left, nobody needs the error
	})

	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusFound))
	mux.Handle("GET /{$}", http.RedirectHandler("/docs/", http.StatusFound))
	return mux
}

func (g *Gateway) handle(one route, w http.ResponseWriter, r *http.Request) error {
	if !one.open {
		authenticated, err := g.authenticate(r)
		if err != nil {
			return err
		}

		r = authenticated
		release, err := g.enterRequest(callerOf(r.Context()).Name)
		if err != nil {
			return err
		}
		defer release()

		if err := one.checkParams(r.URL.Query()); err != nil {
			return err
		}
	}

	if one.body != nil && !one.lines {
		if err := requireJSON(r); err != nil {
			return err
		}
	}
	if one.agent {
		a := g.newAgentResponse(callerOf(r.Context()).Name)
		defer a.release()
		r = r.WithContext(a.withQuota(r.Context()))
	}

	if one.reads != little {
		with, release, err := g.acquireRead(r, one.reads)
		if err != nil {
			return err
		}
		defer release()
		r = with
	}

	return one.serve(w, r)
}

// notFound answers requests that match no route, with the methods that the path supports.
func (g *Gateway) notFound(no http.Handler, w http.ResponseWriter, r *http.Request) {
	captured := capturedResponse{header: http.Header{}}
	no.ServeHTTP(&captured, r)
	if captured.status != http.StatusMethodNotAllowed {
		g.refuse(w, r, noPath(r))
		return
	}
	allow := captured.header.Get("Allow")
	w.Header().Set("Allow", allow)
	g.refuse(w, r, problem(http.StatusMethodNotAllowed,
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
