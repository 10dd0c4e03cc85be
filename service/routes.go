package service

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A route is one operation of the API, with its documentation.
type route struct {
	method, path string
	name         string // operationId
	group        string
	summary      string
	about        string
	serve        func(http.ResponseWriter, *http.Request) error

	open        bool         // requires no key
	body        reflect.Type // nil: no body, or not JSON
	example     any          // of the body
	raw         string       // content type of a body that is not JSON
	lines       bool         // the body may be lines of JSON instead; the operation checks which
	streamed    reflect.Type // of each line of a response that has lines of JSON, instead of the answer if there is one; nil: none
	answer      reflect.Type // of 200; nil: none, or not JSON
	status      int          // instead of 200
	accepted    reflect.Type // of 202; nil: none
	noContent   string       // what 204 means in addition to another response; empty: no such response
	unavailable reflect.Type // of 503 if that is a regular response; nil: it is a problem
	agent       bool         // it calls the agent
	reads       readKind     // the kind of data that it reads much of
	fails       []int        // statuses of problems, in addition to those of all routes of its kind
	kind        string       // content type of a response that is not JSON
	events      bool         // server-sent events instead, if Accept asks for them
	params      []param
}

type param struct {
	name, in, about string
	of              reflect.Type // nil: a string
}

var (
	yesNo  = reflect.TypeFor[bool]()
	number = reflect.TypeFor[int64]()
	moment = reflect.TypeFor[time.Time]()
)

var checking = param{"check", "query",
	"warn: check the source first, and return the findings; enforce: also refuse the source if a finding is an error or worse; off, the default: no check", reflect.TypeFor[checkMode]()}

var ofVolume = param{"volume", "query", "true: in the session's volume, at /workspace, instead of /box", yesNo}

var (
	ofProject = param{"project", "query", "only runs of this project", nil}
	within    = []param{{"since", "query", "only entries of this time or later (RFC 3339)", moment},
		{"until", "query", "only entries before this time (RFC 3339)", moment}}
	paging = []param{{"limit", "query", "largest number of entries in a page; default 1000, at most 10000", number},
		{"after", "query", "the value of next in the previous page", nil}}
	ofAll = param{"all", "query", "true: include all keys; for keys with admin", yesNo}
	ofAny = param{"all", "query", "true: also a run of another key, after it has ended; for keys with admin", yesNo}

	choosing = append([]param{
		ofProject,
		{"task", "query", "only runs of this task", nil},
		{"language", "query", "only runs in this language", nil},
		{"verdict", "query", fmt.Sprintf("only runs with this verdict; repeat the parameter, or separate several with commas: %v; %s: every run without success, including wrong answers and failures of the service", api.Verdicts(), failed), nil},
	}, within...)
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

	g.docs(mux)
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

// checkParams refuses a query with an unknown parameter: a misspelled name would silently have no effect.
// Open routes are not checked, because probes may add any parameter.
func (one route) checkParams(given url.Values) error {
	var names []string
	for _, p := range one.params {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}

	for name := range given {
		switch {
		case len(names) == 0:
			return api.Refuse(api.CodeBadRequest, "parameter %.40q does not exist here: there are no parameters", name)
		case !slices.Contains(names, name):
			return api.Refuse(api.CodeBadRequest, "parameter %.40q does not exist here: the parameters are %v", name, names)
		}
	}

	return nil
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
