package service

import (
	"reflect"

	"github.com/brig-sandbox/brig/api"
)

var ofAny = query("all", "true: also a run of another key, after it has ended; for keys with admin", yesNo)

func (rs *runs) routes() []route {
	return []route{
		{method: "POST", path: "/execute", name: "execute", agent: true, fails: []int{404, 422, 429}, group: "Simple",
			summary: "Run a piece of code and wait for its output",
			about:   "For clients that want a string back. Whatever the program does, the status is 200; errors are errors of the service.",
			serve:   rs.execute, body: reflect.TypeFor[api.Execute](), example: map[string]any{"code": "print(2+2)"},
			answer: reflect.TypeFor[api.Executed](),
			params: []param{checking}},
		{method: "POST", path: "/v1/runs", name: "run", agent: true, fails: []int{404, 422, 429}, accepted: reflect.TypeFor[api.Status](),
			group: "Runs", summary: "Run a program, once or on many tests",
			about: "Waits for the result. With problem, a stored problem has the tests, the limits and what judges. With wait=false, or the header Prefer: respond-async, the response is 202 with the run's id at once. A test without an id gets its number, from 1, as its id.",
			serve: rs.postRun, body: reflect.TypeFor[api.RunRequest](),
			example: map[string]any{"language": "python", "source": "print(input())", "stdin": "hello\n",
				"limits": map[string]any{"wall": "5s", "memory": "128M"}},
			answer: reflect.TypeFor[api.Result](),
			params: []param{query("wait", "false: respond 202 with the run's id at once, and execute the run", yesNo), checking}},
		{method: "POST", path: "/v1/check", name: "check", agent: true, fails: []int{404, 422, 429}, group: "Runs",
			summary: "Check a source for dangerous calls, mistakes and secrets",
			about:   "Advice: the sandbox is the boundary. The language's own parser reads the source, in a sandbox.",
			serve:   rs.postCheck, body: reflect.TypeFor[api.CheckRequest](),
			example: map[string]any{"language": "python", "source": "eval(input())"}, answer: reflect.TypeFor[api.Checked]()},
		{method: "GET", path: "/v1/runs/{id}", name: "getRun", fails: []int{404}, group: "Runs", summary: "The state of a run, and its result",
			serve: rs.getRun, answer: reflect.TypeFor[api.Status](), params: []param{ofAny}},
		{method: "DELETE", path: "/v1/runs/{id}", name: "cancelRun", fails: []int{404}, group: "Runs", summary: "Cancel a run",
			about: "A run that has ended does not change.", serve: rs.deleteRun, answer: reflect.TypeFor[api.Status]()},
		{method: "GET", path: "/v1/runs/{id}/events", name: "runEvents", fails: []int{404}, group: "Runs",
			summary:   "What happens to a run, as it happens",
			about:     "Server-sent events: queued, compiled where there is a compiler, started, stdout, stderr, usage, test, then result or error. A client that reconnects with the header Last-Event-ID gets the events that it missed; gap reports events that are lost.",
			noContent: "the client has received all events: do not reconnect",
			serve:     rs.events, kind: eventStream,
			params: []param{{name: "Last-Event-ID", in: "header", about: "number of the last event that the client received", of: number},
				query("after", "the same, where headers cannot be set", number), ofAny}},
	}
}

var checking = query("check", "warn: check the source first, and return the findings; enforce: also refuse the source if a finding is an error or worse; off, the default: no check", reflect.TypeFor[oneOf[checkMode]]())
