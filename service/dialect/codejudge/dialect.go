// Package codejudge answers as code-judge does (github.com/0xWJ/code-judge), a judge for programs in training: many
// submissions in one request, each with its input and the output that is expected.
package codejudge

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:    dialect.CodeJudge,
	Of:      "code-judge fbc5293afa4f (2025-09-05)",
	Address: "127.0.0.1:8088",
	Routes: []dialect.Route{
		{Method: "GET", Path: "/ping", Open: true, Plan: planPing},
		{Method: "GET", Path: "/status", Plan: planStatus},
		{Method: "POST", Path: "/run", Plan: planOne(wholeResult)},
		{Method: "POST", Path: "/run/batch", Plan: planBatch(wholeResult, shortWait)},
		{Method: "POST", Path: "/run/long-batch", Plan: planBatch(wholeResult, longWait)},
		{Method: "POST", Path: "/judge", Plan: planOne(withoutOutput)},
		{Method: "POST", Path: "/judge/batch", Plan: planBatch(withoutOutput, shortWait)},
		{Method: "POST", Path: "/judge/long-batch", Plan: planBatch(withoutOutput, longWait)},
	},
	Fail: fail,
}

func planPing(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Refuse(fastapi.Respond(200, "pong"))
}

// planStatus is GET /status.
func planStatus(_ dialect.Request, on dialect.Agent) dialect.Plan {
	return dialect.Refuse(fastapi.Respond(200, struct {
		Queue   int `json:"queue"`
		Workers int `json:"num_workers"`
	}{on.Waiting, on.Slots}))
}

// fail tells a failure or refusal of a whole request. Those of one submission are in its result.
func fail(p *api.Problem, word dialect.Word) dialect.Response {
	r := fastapi.Fail(p, word, p.Detail)
	if r.Status == 503 {
		r.SetRetryAfter(p)
	}
	return r
}
