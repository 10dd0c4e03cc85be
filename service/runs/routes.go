package runs

import (
	"reflect"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/openapi"
)

var ofAny = openapi.Query("all", "true: also a run of another key, after it has ended; for keys with admin", openapi.YesNo)

// Routes returns the operations of runs.
func (rs *Runs) Routes() []openapi.Route {
	return []openapi.Route{
		{Method: "POST", Path: "/execute", Name: "execute", Agent: true, Fails: []int{404, 422, 429}, Group: "Simple",
			Summary: "Run a piece of code and wait for its output",
			About:   "For clients that want a string back. Whatever the program does, the status is 200; errors are errors of the service.",
			Serve:   rs.execute, Body: reflect.TypeFor[api.Execute](), Example: map[string]any{"code": "print(2+2)"},
			Answer: reflect.TypeFor[api.Executed](),
			Params: []openapi.Param{checking, preferring}},
		{Method: "POST", Path: "/v1/runs", Name: "run", Agent: true, Fails: []int{404, 422, 429}, Accepted: reflect.TypeFor[api.Status](),
			Group: "Runs", Summary: "Run a program, once or on many tests",
			About: "Waits for the result. With problem, a stored problem has the tests, the limits and what judges. " +
				"With wait=false, or the header Prefer: respond-async, the response is 202 with the run's id at " +
				"once. A test without an id gets its number, from 1, as its id.",
			Serve: rs.postRun, Body: reflect.TypeFor[api.RunRequest](),
			Example: map[string]any{"language": "python", "source": "print(input())", "stdin": "hello\n",
				"limits": map[string]any{"wall": "5s", "memory": "128M"}},
			Answer: reflect.TypeFor[api.Result](),
			Params: []openapi.Param{openapi.Query("wait", "false: respond 202 with the run's id at once, and execute "+
				"the run", openapi.YesNo), checking, preferring}},
		{Method: "POST", Path: "/v1/check", Name: "check", Agent: true, Fails: []int{404, 422, 429}, Group: "Runs",
			Summary: "Check a source for dangerous calls, mistakes and secrets",
			About:   "Advice: the sandbox is the boundary. The language's own parser reads the source, in a sandbox.",
			Serve:   rs.postCheck, Body: reflect.TypeFor[api.CheckRequest](),
			Example: map[string]any{"language": "python", "source": "eval(input())"}, Answer: reflect.TypeFor[api.Checked]()},
		{Method: "GET", Path: "/v1/runs/{id}", Name: "getRun", Fails: []int{404}, Group: "Runs", Summary: "The state of a run, and its result",
			Serve: rs.getRun, Answer: reflect.TypeFor[api.Status](),
			Params: []openapi.Param{openapi.Query("with", "request: also what the service has kept of the request", nil), ofAny}},
		{Method: "DELETE", Path: "/v1/runs/{id}", Name: "cancelRun", Fails: []int{404}, Group: "Runs", Summary: "Cancel a run",
			About: "A run that has ended does not change.", Serve: rs.deleteRun, Answer: reflect.TypeFor[api.Status]()},
		{Method: "POST", Path: "/v1/runs/{id}/again", Name: "runAgain", Agent: true, Fails: []int{404, 409, 422, 429},
			Accepted: reflect.TypeFor[api.Status](), Group: "Runs",
			Summary: "Run what is kept of the request of a run again",
			About: "As POST /v1/runs does. Fields of the body replace those of the request; {} changes none. What is not " +
				"kept, such as files, tests and environment variables, must be sent: otherwise the answer is a 409, which " +
				"names it. The new run has an id of its own, and the old one stays.",
			Serve: rs.postAgain, Body: reflect.TypeFor[api.RunRequest](),
			Example: map[string]any{"stdin": "other\n", "limits": map[string]any{"memory": "256M"}},
			Answer:  reflect.TypeFor[api.Result](),
			Params: []openapi.Param{openapi.Query("wait", "false: respond 202 with the run's id at once, and execute "+
				"the run", openapi.YesNo), checking, preferring}},
		{Method: "GET", Path: "/v1/runs/{id}/events", Name: "runEvents", Fails: []int{404}, Group: "Runs",
			Summary: "What happens to a run, as it happens",
			About: "Server-sent events: queued, compiled where there is a compiler, started, stdout, stderr, " +
				"usage, test, then result or error. A client that reconnects with the header Last-Event-ID gets the " +
				"events that it missed; gap reports events that are lost.",
			NoContent: "the client has received all events: do not reconnect",
			Serve:     rs.events, Kind: core.EventStream,
			Params: []openapi.Param{{Name: "Last-Event-ID", In: "header", About: "number of the last event that the " +
				"client received", Of: openapi.Number},
				openapi.Query("after", "the same, where headers cannot be set", openapi.Number), ofAny}},
	}
}

var checking = openapi.Query("check", "warn: check the source first, and return the findings; enforce: also refuse "+
	"the source if a finding is an error or worse; off, the default: no check", reflect.TypeFor[openapi.OneOf[checkMode]]())

var preferring = openapi.Param{Name: "Prefer", In: "header", About: "RFC 7240: wait=SECONDS waits no longer than that for " +
	"a slot, and then answers 503 with the code waited-too-long; the header Preference-Applied confirms it. respond-async, " +
	"where there is a parameter wait, is the same as wait=false"}
