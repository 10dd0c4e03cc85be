// Package sandboxfusion answers as SandboxFusion does (github.com/bytedance/SandboxFusion), the sandbox that verl and
// others call in training: one program, once, with its output; and as ScaleBox does (github.com/icip-cas/ScaleBox), which
// evaluates the text of a model on tests.
package sandboxfusion

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:    dialect.SandboxFusion,
	Of:      "SandboxFusion 469de0845cb7 (2026-07-14)",
	Address: "127.0.0.1:8080",
	Routes: []dialect.Route{
		{Method: "POST", Path: "/run_code", Plan: planRunCode},
		{Method: "POST", Path: "/common_evaluate", Plan: planEvaluate(false)},
		{Method: "POST", Path: "/common_evaluate_batch", Plan: planEvaluate(true)},
		{Method: "GET", Path: "/v1/ping", Open: true, Plan: planPing},
	},
	Fail: fail,
}

func planPing(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Refuse(fastapi.Respond(200, "pong"))
}

// fieldsOf has the fields of a request that set limits.
var fieldsOf = strings.NewReplacer("limit wall", "run_timeout or compile_timeout (limit wall)",
	"limit cpu", "run_timeout or compile_timeout (limit cpu)", "limit memory", "memory_limit_MB (limit memory)")

func fail(p *api.Problem, word dialect.Word) dialect.Response {
	return fastapi.Fail(p, word, fieldsOf.Replace(p.Detail))
}
