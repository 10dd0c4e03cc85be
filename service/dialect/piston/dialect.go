// Package piston answers as Piston does (github.com/engineer-man/piston), the code runner of chat bots, course pages and
// open-r1: one program with its files, arguments and stdin, once, with its output.
//
// It has the REST part of version 2 of Piston's API. The WebSocket /connect needs a session that is live.
package piston

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:       dialect.Piston,
	Of:         "Piston 3.1.1 0a844d0 (2026-03-26)",
	Address:    "127.0.0.1:2000",
	KeyHeaders: []string{"Authorization"}, // clients of the public Piston send the key as it is, without Bearer
	Routes: []dialect.Route{
		{Method: "GET", Path: "/{$}", Open: true, Plan: planRoot},
		{Method: "GET", Path: "/api/v2/runtimes", Plan: planRuntimes},
		{Method: "POST", Path: "/api/v2/execute", Plan: planExecute},
		{Method: "GET", Path: "/api/v2/packages", Plan: planPackages},
		{Method: "POST", Path: "/api/v2/packages", Plan: planInstall},
		{Method: "DELETE", Path: "/api/v2/packages", Plan: planUninstall},
	},
	Fail: fail,
}

// said is the body of everything that is no result. Its JSON has its fields in this order.
type said struct {
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"` // of a body that is no JSON; the original has nothing else then
}

func planRoot(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Refuse(respond(200, said{Message: "Piston v3.1.1"}))
}

// respond makes a response of JSON as Express writes it.
func respond(status int, v any) dialect.Response {
	return dialect.JSON(status, "application/json; charset=utf-8", v)
}

// refuse is a plan that refuses a request for a fault of the caller.
func refuse(message string) dialect.Plan { return dialect.Refuse(respond(400, said{Message: message})) }

// fieldsOf has the fields of a request that set limits.
var fieldsOf = strings.NewReplacer("limit wall", "run_timeout or compile_timeout (limit wall)",
	"limit cpu", "run_cpu_time or compile_cpu_time (limit cpu)",
	"limit memory", "run_memory_limit or compile_memory_limit (limit memory)")

func fail(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case p.Status == 415:
		return respond(415, said{Message: "requests must be of type application/json"})
	case word.Status == 404: // also for a method that a path does not have
		return respond(404, said{Message: "Not Found"})
	}

	r := respond(word.Status, said{Message: fieldsOf.Replace(p.Detail)})
	if word.Status == 503 {
		r.SetRetryAfter(p)
	}
	return r
}
