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

// routes returns all operations.
func (g *Gateway) routes() []route {
	return []route{
		{method: "POST", path: "/execute", name: "execute", agent: true, fails: []int{404, 422, 429}, group: "Simple",
			summary: "Run a piece of code and wait for its output",
			about:   "For clients that want a string back. Whatever the program does, the status is 200; errors are errors of the service.",
			serve:   g.execute, body: reflect.TypeFor[api.Execute](), example: map[string]any{"code": "print(2+2)"},
			answer: reflect.TypeFor[api.Executed](),
			params: []param{checking}},
		{method: "POST", path: "/v1/runs", name: "run", agent: true, fails: []int{404, 422, 429}, accepted: reflect.TypeFor[api.Status](),
			group: "Runs", summary: "Run a program, once or on many tests",
			about: "Waits for the result. With problem, a stored problem has the tests, the limits and what judges. With wait=false, or the header Prefer: respond-async, the response is 202 with the run's id at once. A test without an id gets its number, from 1, as its id.",
			serve: g.postRun, body: reflect.TypeFor[api.RunRequest](),
			example: map[string]any{"language": "python", "source": "print(input())", "stdin": "hello\n",
				"limits": map[string]any{"wall": "5s", "memory": "128M"}},
			answer: reflect.TypeFor[api.Result](),
			params: []param{{"wait", "query",
				"false: respond 202 with the run's id at once, and execute the run", yesNo}, checking}},
		{method: "POST", path: "/v1/check", name: "check", agent: true, fails: []int{404, 422, 429}, group: "Runs",
			summary: "Check a source for dangerous calls, mistakes and secrets",
			about:   "Advice: the sandbox is the boundary. The language's own parser reads the source, in a sandbox.",
			serve:   g.postCheck, body: reflect.TypeFor[api.CheckRequest](),
			example: map[string]any{"language": "python", "source": "eval(input())"}, answer: reflect.TypeFor[api.Checked]()},
		{method: "GET", path: "/v1/runs/{id}", name: "getRun", fails: []int{404}, group: "Runs", summary: "The state of a run, and its result",
			serve: g.getRun, answer: reflect.TypeFor[api.Status](), params: []param{ofAny}},
		{method: "DELETE", path: "/v1/runs/{id}", name: "cancelRun", fails: []int{404}, group: "Runs", summary: "Cancel a run",
			about: "A run that has ended does not change.", serve: g.deleteRun, answer: reflect.TypeFor[api.Status]()},
		{method: "GET", path: "/v1/runs/{id}/events", name: "runEvents", fails: []int{404}, group: "Runs",
			summary:   "What happens to a run, as it happens",
			about:     "Server-sent events: queued, compiled where there is a compiler, started, stdout, stderr, usage, test, then result or error. A client that reconnects with the header Last-Event-ID gets the events that it missed; gap reports events that are lost.",
			noContent: "the client has received all events: do not reconnect",
			serve:     g.events, kind: eventStream,
			params: []param{{"Last-Event-ID", "header", "number of the last event that the client received", number},
				{"after", "query", "the same, where headers cannot be set", number}, ofAny}},
		{method: "PUT", path: "/v1/blobs/{digest}", name: "putBlob", agent: true, fails: []int{413}, group: "Blobs",
			summary: "Store an input that several runs use",
			about:   "digest is the sha256 of the body in hex. Runs name it in blob, stdin_blob and expected_blob. If a key has too much, its least recently used blobs are removed.",
			serve:   g.putBlob, raw: "application/octet-stream", status: http.StatusNoContent},
		{method: "HEAD", path: "/v1/blobs/{digest}", name: "hasBlob", agent: true, fails: []int{404}, group: "Blobs",
			summary: "Whether a blob is stored, and need not be sent",
			serve:   g.hasBlob, status: http.StatusNoContent},
		{method: "PUT", path: "/v1/problems/{name}", name: "putProblem", fails: []int{404, 413, 422, 502, 503}, group: "Problems",
			summary: "Store the package of a problem, by which runs are judged",
			about:   "The body is a zip, tar, tar.gz or tar.zst of a package: Kattis, Polygon, CMS, or tests alone. It replaces a package of this name, completely or, if it is wrong, not at all. A problem belongs to the key that stored it.",
			serve:   g.putProblem, raw: "application/zip", answer: reflect.TypeFor[api.StoredProblem]()},
		{method: "GET", path: "/v1/problems", name: "problems", fails: []int{422}, group: "Problems", summary: "The stored problems of this key",
			serve: g.getProblems, answer: reflect.TypeFor[api.Page[api.StoredProblem]]()},
		{method: "GET", path: "/v1/problems/{name}", name: "problem", fails: []int{404, 422}, group: "Problems",
			summary: "A stored problem, and what its package says",
			about:   "The name may also be a digest, sha256:...", serve: g.getProblem,
			answer: reflect.TypeFor[api.StoredProblem]()},
		{method: "DELETE", path: "/v1/problems/{name}", name: "deleteProblem", fails: []int{404, 422}, group: "Problems",
			summary: "Remove a stored problem",
			about:   "Runs that have begun are judged by it.", serve: g.deleteProblem, status: http.StatusNoContent},
		{method: "POST", path: "/v1/problems/{name}/verify", name: "verifyProblem", agent: true, fails: []int{404, 413, 422, 429},
			group: "Problems", summary: "Find out whether a stored problem is right, by running all its programs",
			about: "As brig problem verify does: validators, outputs for the checker, and every submission of the jury, with the margins of the time limit. A package that is wrong is no error: ok is false. It may take minutes: with Accept: application/x-ndjson a line is sent after each run, the verification is in the last one, whose end is true, and blank lines are signs of life. The runs belong to the key, and get slots that no other request can have.",
			serve: g.verifyProblem, body: reflect.TypeFor[api.VerifyRequest](), example: map[string]any{"repeat": 1},
			answer: reflect.TypeFor[api.Verification](), streamed: reflect.TypeFor[api.VerifyLine]()},
		{method: "POST", path: "/v1/batches", name: "createBatch", fails: []int{409, 422, 429}, group: "Batches",
			summary: "Open a batch of jobs; or open, fill and follow one in one exchange",
			about:   "A job is a submission with all its tests, and gets exactly one result, also after a restart of the service. With wait=true the body has lines of jobs, after a first line with defaults if there are any, and the response is their results as they come, as of GET /v1/batches/{id}/results with follow=true; Location has the path of the batch. Jobs of batches get slots that no other request can have.",
			serve:   g.postBatch, body: reflect.TypeFor[api.BatchRequest](), lines: true,
			example: map[string]any{"defaults": map[string]any{"language": "python",
				"tests": []any{map[string]any{"stdin": "21", "expected": "42"}}}},
			answer: reflect.TypeFor[api.Batch](), status: http.StatusCreated, streamed: reflect.TypeFor[api.JobResult](),
			params: []param{{"Idempotency-Key", "header",
				"a request with the same key gets the same batch; up to 256 bytes", nil},
				{"wait", "query", "true: the body has the jobs, and the response their results", yesNo},
				{"cancel_on_hangup", "query", "true, with wait: the batch is canceled if the client leaves before its end", yesNo}}},
		{method: "GET", path: "/v1/batches", name: "batches", fails: []int{422}, group: "Batches",
			summary: "The batches of this key, the newest first", serve: g.getBatches,
			answer: reflect.TypeFor[api.Page[api.Batch]](), params: paging},
		{method: "GET", path: "/v1/batches/{id}", name: "batch", fails: []int{404, 422}, group: "Batches", summary: "How far a batch is",
			serve: g.getBatch, answer: reflect.TypeFor[api.Batch]()},
		{method: "DELETE", path: "/v1/batches/{id}", name: "deleteBatch", fails: []int{404, 422}, group: "Batches",
			summary: "Cancel a batch; or remove one that has ended, with its results",
			about:   "Nothing begins after a cancel, and what runs is ended. Results that there are stay; each other job gets one that says that it was canceled.",
			serve:   g.deleteBatch, answer: reflect.TypeFor[api.Batch](), noContent: "the batch had ended, and is removed"},
		{method: "POST", path: "/v1/batches/{id}/jobs", name: "addJobs", fails: []int{404, 408, 409, 415, 422}, group: "Batches",
			summary: "Add jobs to a batch, one in each line",
			about:   "Jobs that are counted as taken are on disk. The same lines may be sent again: a job with the same id and the same work is counted as repeated; other work with the same id is a 409. Lines that are refused are no part of the batch.",
			serve:   g.postJobs, raw: jsonLines, answer: reflect.TypeFor[api.JobsTaken]()},
		{method: "POST", path: "/v1/batches/{id}/close", name: "closeBatch", fails: []int{404, 422}, group: "Batches",
			summary: "Say that a batch gets no more jobs", serve: g.closeBatch, answer: reflect.TypeFor[api.Batch]()},
		{method: "GET", path: "/v1/batches/{id}/results", name: "results", fails: []int{404, 422}, group: "Batches",
			summary: "Results of a batch, one in each line, in the order in which they came",
			about:   "A client that comes back with after gets each line once. With follow=true the response ends when the batch has, with a line whose field end is true: without it lines are missing. Blank lines are signs of life.",
			serve:   g.getResults, streamed: reflect.TypeFor[api.JobResult](),
			params: []param{{"after", "query", "number of lines that the client has", number},
				{"limit", "query", "most lines; default 1000, with follow any number; at most 10000", number},
				{"follow", "query", "true: wait for further results until the batch has ended", yesNo}}},
		{method: "GET", path: "/v1/batches/{id}/events", name: "batchEvents", fails: []int{404, 422}, group: "Batches",
			summary: "How far a batch is, as it goes on",
			about:   "Server-sent events: progress at most once a second, then done. Each has the whole state.",
			serve:   g.batchEvents, kind: eventStream},
		{method: "POST", path: "/v1/sessions", name: "createSession", agent: true, fails: []int{404, 409, 422, 429}, group: "Sessions",
			summary: "Create a sandbox whose files and processes last",
			about:   "Each project and task has at most one session: the request for a second gets a 409 with the session_id of the first. With volume, /workspace has the files that the project keeps between sessions; only one session may write to them at once, unless all that write have set shared.",
			serve:   g.postSession, body: reflect.TypeFor[api.SessionRequest](),
			example: map[string]any{"language": "python", "labels": map[string]any{"project": "course", "task": "ann"}},
			answer:  reflect.TypeFor[api.Session](), status: http.StatusCreated},
		{method: "GET", path: "/v1/sessions", name: "sessions", agent: true, group: "Sessions", summary: "The sessions of this key",
			serve: g.getSessions, answer: reflect.TypeFor[api.Page[api.Session]]()},
		{method: "GET", path: "/v1/sessions/{id}", name: "session", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "A session, and what it uses now", serve: g.getSession, answer: reflect.TypeFor[api.Session]()},
		{method: "DELETE", path: "/v1/sessions/{id}", name: "endSession", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "End a session, with all that is in it", serve: g.deleteSession, status: http.StatusNoContent},
		{method: "POST", path: "/v1/sessions/{id}/exec", name: "exec", agent: true, fails: []int{404, 410, 422, 429}, group: "Sessions",
			summary: "Execute a command or source in a session",
			about:   "With Accept: text/event-stream, stdout and stderr are sent as they are written, then result or error.",
			serve:   g.postExec, body: reflect.TypeFor[api.Exec](), example: map[string]any{"source": "print(2+2)"},
			answer: reflect.TypeFor[api.Result](), events: true},
		{method: "GET", path: "/v1/sessions/{id}/files", name: "files", agent: true, reads: boxFiles, fails: []int{404, 410, 429},
			group: "Sessions", summary: "List the files in /box", serve: g.listFiles, answer: reflect.TypeFor[api.FileList](),
			params: []param{{"dir", "query", "only below this directory", nil}, ofVolume}},
		{method: "GET", path: "/v1/sessions/{id}/files/{name...}", name: "getFile", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "Read a file", serve: g.getFile, kind: "application/octet-stream", params: []param{ofVolume}},
		{method: "PUT", path: "/v1/sessions/{id}/files/{name...}", name: "putFile", agent: true, fails: []int{404, 410, 413}, group: "Sessions",
			summary: "Write a file", serve: g.putFile, raw: "application/octet-stream",
			status: http.StatusNoContent,
			params: []param{{"executable", "query", "true: the program may execute it", yesNo}, ofVolume}},
		{method: "DELETE", path: "/v1/sessions/{id}/files/{name...}", name: "deleteFile", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "Remove a file", serve: g.deleteFile, status: http.StatusNoContent, params: []param{ofVolume}},
		{method: "GET", path: "/v1/volumes", name: "volumes", agent: true, group: "Sessions", summary: "The volumes of this key, by project",
			about: "Sessions that request a volume create it, and it outlives them.", serve: g.getVolumes,
			answer: reflect.TypeFor[api.Page[api.Volume]]()},
		{method: "DELETE", path: "/v1/volumes/{project}", name: "deleteVolume", agent: true, fails: []int{404, 409}, group: "Sessions",
			summary: "Remove a project's volume, with all that is in it",
			about:   "409 while a session uses it.", serve: g.deleteVolume, status: http.StatusNoContent},
		{method: "GET", path: "/v1/languages", name: "languages", agent: true, group: "About",
			summary: "The languages that programs may be written in",
			serve:   g.getLanguages, answer: reflect.TypeFor[[]api.Language]()},
		{method: "GET", path: "/v1/history", name: "history", reads: pastRuns, fails: []int{429}, group: "History",
			summary: "Executed runs, the newest first",
			serve:   g.getHistory, answer: reflect.TypeFor[api.Page[api.Record]](),
			params: slices.Concat(choosing, paging, []param{ofAll})},
		{method: "GET", path: "/v1/stats", name: "stats", reads: pastRuns, fails: []int{429}, group: "History",
			summary: "Statistics of runs: totals, times, by language, project and task",
			serve:   g.getStats, answer: reflect.TypeFor[api.Stats](), params: append(slices.Clone(choosing), ofAll)},
		{method: "GET", path: "/v1/alerts", name: "alerts", reads: pastRuns, fails: []int{429}, group: "History",
			summary: "What an operator should see: crashes, memory, denied calls, failure rates",
			serve:   g.getAlerts, answer: reflect.TypeFor[api.Page[api.Alert]](),
			params: slices.Concat([]param{ofProject}, within, paging, []param{ofAll})},
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
