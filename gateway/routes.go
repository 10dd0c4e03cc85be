package gateway

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

// A route is one operation, and all that its documentation says.
type route struct {
	method, path string
	name         string // operationId
	group        string
	summary      string
	about        string
	serve        func(http.ResponseWriter, *http.Request) error

	open    bool         // needs no key
	body    reflect.Type // nil: none; or it is not JSON
	example any          // of the body
	raw     string       // content type of a body that is no JSON
	answer  reflect.Type // of 200; nil: none, or it is not JSON
	status  int          // instead of 200
	later   reflect.Type // of 202; nil: there is none
	nothing string       // what 204 means beside another answer; empty: there is none
	down    reflect.Type // of 503, where that is an answer; nil: it is a problem
	agent   bool         // it asks the agent
	reads   reading      // what it reads much of
	fails   []int        // statuses of problems, beside those of every route like it
	kind    string       // content type of an answer that is no JSON
	events  bool         // it can be server-sent events instead, where Accept asks for them
	params  []param
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

var checking = param{"check", "query", "warn: look through the source first, and give the findings; enforce: refuse it where one is an error or worse; off, as if not given: neither", reflect.TypeFor[checkMode]()}

var ofVolume = param{"volume", "query", "true: in the session's volume, at /workspace, instead of /box", yesNo}

var (
	ofProject = param{"project", "query", "only runs of this project", nil}
	within    = []param{{"since", "query", "only those of then or later (RFC 3339)", moment}, {"until", "query", "only those of before (RFC 3339)", moment}}
	paging    = []param{{"limit", "query", "most entries of a page; 1000 if not given, at most 10000", number}, {"after", "query", "next of the page before", nil}}
	ofAll     = param{"all", "query", "true: of every key; for keys with admin", yesNo}
	ofAny     = param{"all", "query", "true: also another key's run, once it has ended; for keys with admin", yesNo}

	choosing = append([]param{
		ofProject,
		{"task", "query", "only runs of this task", nil},
		{"language", "query", "only runs in this language", nil},
		{"verdict", "query", fmt.Sprintf("only runs with this verdict, or these: it may be given again, or several with commas, of %v; %s: every run that is no success, wrong answers and failures of the service too", api.Verdicts(), failed), nil},
	}, within...)
)

// routes are all operations.
func (g *Gateway) routes() []route {
	return []route{
		{method: "POST", path: "/execute", name: "execute", agent: true, fails: []int{404, 422, 429}, group: "Simple", summary: "Run a piece of code and wait for its output",
			about: "For clients that want a string back. Everything that the program does is a 200; errors are this service's.",
			serve: g.execute, body: reflect.TypeFor[api.Execute](), example: map[string]any{"code": "print(2+2)"}, answer: reflect.TypeFor[api.Executed](),
			params: []param{checking}},
		{method: "POST", path: "/v1/runs", name: "run", agent: true, fails: []int{404, 422, 429}, later: reflect.TypeFor[api.Status](), group: "Runs", summary: "Run a program, once or on many tests",
			about: "Waits for the result. With wait=false, or the header Prefer: respond-async, the answer is 202 with the run's id at once. A test without an id has its number, from 1.",
			serve: g.postRun, body: reflect.TypeFor[api.Run](),
			example: map[string]any{"language": "python", "source": "print(input())", "stdin": "hello\n", "limits": map[string]any{"wall": "5s", "memory": "128M"}},
			answer:  reflect.TypeFor[api.Result](), params: []param{{"wait", "query", "false: answer 202 with the run's id, and carry it out", yesNo}, checking}},
		{method: "POST", path: "/v1/check", name: "check", agent: true, fails: []int{404, 422, 429}, group: "Runs", summary: "Look through a source for dangerous calls, mistakes and secrets",
			about: "Advice: the sandbox is the boundary. The language's own parser reads the source, in a sandbox.",
			serve: g.postCheck, body: reflect.TypeFor[api.CheckRequest](), example: map[string]any{"language": "python", "source": "eval(input())"}, answer: reflect.TypeFor[api.Checked]()},
		{method: "GET", path: "/v1/runs/{id}", name: "getRun", fails: []int{404}, group: "Runs", summary: "How far a run is, and its result",
			serve: g.getRun, answer: reflect.TypeFor[api.Status](), params: []param{ofAny}},
		{method: "DELETE", path: "/v1/runs/{id}", name: "cancelRun", fails: []int{404}, group: "Runs", summary: "Cancel a run",
			about: "One that is done stays as it was.", serve: g.deleteRun, answer: reflect.TypeFor[api.Status]()},
		{method: "GET", path: "/v1/runs/{id}/events", name: "runEvents", fails: []int{404}, group: "Runs", summary: "What happens to a run, as it happens",
			about:   "Server-sent events: queued, compiled where there is a compiler, started, stdout, stderr, usage, test, then result or error. A client that comes back with the header Last-Event-ID gets what it missed; gap tells of events that are gone.",
			nothing: "all events have arrived: do not come back",
			serve:   g.events, kind: eventStream, params: []param{{"Last-Event-ID", "header", "number of the last event that arrived", number}, {"after", "query", "the same, where headers cannot be set", number}, ofAny}},
		{method: "PUT", path: "/v1/blobs/{digest}", name: "putBlob", agent: true, fails: []int{413}, group: "Blobs", summary: "Keep an input that many runs share",
			about: "digest is the sha256 of the body in hex. Runs name it in blob, stdin_blob and expected_blob. What a key used longest ago goes when it has too much.",
			serve: g.putBlob, raw: "application/octet-stream", status: http.StatusNoContent},
		{method: "HEAD", path: "/v1/blobs/{digest}", name: "hasBlob", agent: true, fails: []int{404}, group: "Blobs", summary: "Whether a blob need not be sent",
			serve: g.hasBlob, status: http.StatusNoContent},
		{method: "POST", path: "/v1/sessions", name: "createSession", agent: true, fails: []int{404, 409, 422, 429}, group: "Sessions", summary: "Make a sandbox in which files and processes last",
			about: "Of a project and task there is one at a time: a second is a 409 with the first one's session_id. With volume it has, at /workspace, what the project keeps between sessions; one at a time may write, unless all that do say shared.",
			serve: g.postSession, body: reflect.TypeFor[api.SessionRequest](), example: map[string]any{"language": "python", "labels": map[string]any{"project": "course", "task": "ann"}},
			answer: reflect.TypeFor[api.Session](), status: http.StatusCreated},
		{method: "GET", path: "/v1/sessions", name: "sessions", agent: true, group: "Sessions", summary: "The sessions of this key", serve: g.getSessions, answer: reflect.TypeFor[api.Page[api.Session]]()},
		{method: "GET", path: "/v1/sessions/{id}", name: "session", agent: true, fails: []int{404, 410}, group: "Sessions", summary: "A session, and what it uses now", serve: g.getSession, answer: reflect.TypeFor[api.Session]()},
		{method: "DELETE", path: "/v1/sessions/{id}", name: "endSession", agent: true, fails: []int{404, 410}, group: "Sessions", summary: "End a session, with all that is in it", serve: g.deleteSession, status: http.StatusNoContent},
		{method: "POST", path: "/v1/sessions/{id}/exec", name: "exec", agent: true, fails: []int{404, 410, 422, 429}, group: "Sessions", summary: "Execute a command or source in a session",
			about: "With Accept: text/event-stream stdout and stderr come as they are written, then result or error.",
			serve: g.postExec, body: reflect.TypeFor[api.Exec](), example: map[string]any{"source": "print(2+2)"}, answer: reflect.TypeFor[api.Result](), events: true},
		{method: "GET", path: "/v1/sessions/{id}/files", name: "files", agent: true, reads: boxFiles, fails: []int{404, 410, 429}, group: "Sessions", summary: "What lies in /box", serve: g.listFiles, answer: reflect.TypeFor[api.FileList](),
			params: []param{{"dir", "query", "only below this directory", nil}, ofVolume}},
		{method: "GET", path: "/v1/sessions/{id}/files/{name...}", name: "getFile", agent: true, fails: []int{404, 410}, group: "Sessions", summary: "Read a file", serve: g.getFile, kind: "application/octet-stream", params: []param{ofVolume}},
		{method: "PUT", path: "/v1/sessions/{id}/files/{name...}", name: "putFile", agent: true, fails: []int{404, 410, 413}, group: "Sessions", summary: "Write a file", serve: g.putFile, raw: "application/octet-stream",
			status: http.StatusNoContent, params: []param{{"executable", "query", "true: the program may execute it", yesNo}, ofVolume}},
		{method: "DELETE", path: "/v1/sessions/{id}/files/{name...}", name: "deleteFile", agent: true, fails: []int{404, 410}, group: "Sessions", summary: "Remove a file", serve: g.deleteFile, status: http.StatusNoContent, params: []param{ofVolume}},
		{method: "GET", path: "/v1/volumes", name: "volumes", agent: true, group: "Sessions", summary: "The volumes of this key, by project",
			about: "They are made by sessions that ask for one, and outlive them.", serve: g.getVolumes, answer: reflect.TypeFor[api.Page[api.Volume]]()},
		{method: "DELETE", path: "/v1/volumes/{project}", name: "deleteVolume", agent: true, fails: []int{404, 409}, group: "Sessions", summary: "Remove a project's volume, with all that is in it",
			about: "409 while a session has it.", serve: g.deleteVolume, status: http.StatusNoContent},
		{method: "GET", path: "/v1/languages", name: "languages", agent: true, group: "About", summary: "What programs may be written in",
			serve: g.getLanguages, answer: reflect.TypeFor[[]api.Language]()},
		{method: "GET", path: "/v1/history", name: "history", reads: pastRuns, fails: []int{429}, group: "History", summary: "Runs that were carried out, the newest first",
			serve: g.getHistory, answer: reflect.TypeFor[api.Page[api.Record]](), params: slices.Concat(choosing, paging, []param{ofAll})},
		{method: "GET", path: "/v1/stats", name: "stats", reads: pastRuns, fails: []int{429}, group: "History", summary: "Figures of runs: totals, times, by language, project and task",
			serve: g.getStats, answer: reflect.TypeFor[api.Stats](), params: append(slices.Clone(choosing), ofAll)},
		{method: "GET", path: "/v1/alerts", name: "alerts", reads: pastRuns, fails: []int{429}, group: "History", summary: "What an operator should see: crashes, memory, denied calls, failure rates",
			serve: g.getAlerts, answer: reflect.TypeFor[api.Page[api.Alert]](), params: slices.Concat([]param{ofProject}, within, paging, []param{ofAll})},
		{method: "GET", path: "/metrics", name: "metrics", group: "About", summary: "Counters for Prometheus", about: "With keys, for those with admin.",
			serve: g.getMetrics, kind: "text/plain"},
		{method: "GET", path: "/health", name: "health", group: "About", summary: "How the service is", open: true, about: "Without a key, where there are keys, only the status.",
			serve: g.getHealth, answer: reflect.TypeFor[api.ServiceHealth]()},
		{method: "GET", path: "/health/live", name: "live", group: "About", summary: "Whether the process answers", open: true,
			serve: g.live, answer: reflect.TypeFor[healthWord]()},
		{method: "GET", path: "/health/ready", name: "ready", down: reflect.TypeFor[healthWord](), group: "About", summary: "Whether runs are taken; 503 if not", open: true,
			serve: g.ready, answer: reflect.TypeFor[healthWord]()},
	}
}

// muxOf joins the routes, their documentation and what is left over.
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
		// A file without a name is refused as one with an empty name: the mux would redirect.
		if bare, is := strings.CutSuffix(one.method+" "+one.path, "/{name...}"); is && !known[bare] {
			mux.HandleFunc(bare, serve)
		}
	}
	g.docs(mux)
	return mux
}

func (g *Gateway) handle(one route, w http.ResponseWriter, r *http.Request) error {
	if !one.open {
		known, err := g.withCaller(r)
		if err != nil {
			return err
		}
		r = known
		leave, err := g.asking.enter(callerOf(r.Context()).Name, g.cfg.MaxConns, g.cfg.Keys.several())
		if err != nil {
			return err
		}
		defer leave()
		if err := one.knows(r.URL.Query()); err != nil {
			return err
		}
	}
	if one.body != nil {
		if err := wantJSON(r); err != nil {
			return err
		}
	}
	if one.agent {
		a := g.arrival(callerOf(r.Context()).Name)
		defer a.leave()
		r = r.WithContext(a.watch(r.Context()))
	}
	if one.reads != little {
		with, leave, err := g.read(r, one.reads)
		if err != nil {
			return err
		}
		defer leave()
		r = with
	}
	return one.serve(w, r)
}

// knows refuses a query with a parameter that the route has not: a name that is written
// wrong would be as if it were not there. Probes of open routes add what they like.
func (one route) knows(given url.Values) error {
	var names []string
	for _, p := range one.params {
		if p.in == "query" {
			names = append(names, p.name)
		}
	}
	for name := range given {
		switch {
		case len(names) == 0:
			return api.Refuse(api.CodeBadRequest, "parameter %.40q is not known here: there is none", name)
		case !slices.Contains(names, name):
			return api.Refuse(api.CodeBadRequest, "parameter %.40q is not known here: there are %v", name, names)
		}
	}
	return nil
}

// lost answers what no route does, with the methods that the path has.
func (g *Gateway) lost(no http.Handler, w http.ResponseWriter, r *http.Request) {
	said := refusal{header: http.Header{}}
	no.ServeHTTP(&said, r)
	if said.status != http.StatusMethodNotAllowed {
		g.refuse(w, r, noPath(r))
		return
	}
	allow := said.header.Get("Allow")
	w.Header().Set("Allow", allow)
	g.refuse(w, r, problem(http.StatusMethodNotAllowed, api.Refuse(api.CodeBadRequest, "use %s for %.200q, not %.20s", allow, r.URL.Path, r.Method)))
}

func noPath(r *http.Request) error {
	return api.Refuse(api.CodeNotFound, "there is no %.200q here: /docs lists what there is", r.URL.Path)
}

// A refusal is what a ServeMux says where it has no handler.
type refusal struct {
	header http.Header
	status int
}

func (f *refusal) Header() http.Header         { return f.header }
func (f *refusal) Write(p []byte) (int, error) { return len(p), nil }
func (f *refusal) WriteHeader(status int)      { f.status = status }
