// Package librechat answers as the code interpreter of LibreChat does (github.com/ClickHouse/code-interpreter): a
// program, once, with files that it gets and leaves.
package librechat

import (
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:       dialect.LibreChat,
	Of:         "the code interpreter of LibreChat 18bf002a0426 (2026-08-07)",
	Address:    "127.0.0.1:3112",
	KeyHeaders: []string{"X-API-Key"},
	Routes: []dialect.Route{
		{Method: "POST", Path: "/v1/exec", Plan: planExec, Fail: failExec},
		{Method: "POST", Path: "/v1/upload", Form: true, Plan: planUpload},
		{Method: "POST", Path: "/v1/upload/batch", Form: true, Plan: planBatchUpload},
		{Method: "GET", Path: "/v1/files/{session}", Plan: planList},
		{Method: "DELETE", Path: "/v1/files/{session}/{file}", NoBody: true, Plan: planDelete},
		{Method: "GET", Path: "/v1/sessions/{session}/objects/{file}", Plan: planObject},
		{Method: "GET", Path: "/v1/download/{session}/{file}", Plan: planDownload},
	},
	Fail: fail,
}

// A problem is the body of every error.
type problem struct {
	Error   string `json:"error"`
	Details string `json:"details,omitempty"`
}

func respond(status int, v any) dialect.Response {
	return dialect.JSON(status, "application/json; charset=utf-8", v)
}

func refuse(why string) dialect.Plan { return dialect.Refuse(respond(400, problem{Error: why})) }

func noFile() dialect.Response {
	return respond(404, problem{"File not found", "The file may have expired or does not exist"})
}

// full are the codes of a service that has too much to do: its clients are told to wait, as by the original's limits of
// rates. Some of them wait and send the request again by themselves, which they do after no other status.
var full = []api.Code{
	api.CodeQueueFull, api.CodeKeyQueueFull, api.CodeQueueTimeout, api.CodeBusy, api.CodeOverloaded, api.CodeHostMemory,
	api.CodeTooManyConns, api.CodeTooManyBodies,
}

// fail tells a failure or refusal of brig.
func fail(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case p.Code == api.CodeNoBlob: // evicted between the plan and the run
		return noFile()
	case slices.Contains(full, p.Code):
		r := respond(429, struct {
			Error   string `json:"error"` // the client looks for this one
			Message string `json:"message"`
			Wait    int    `json:"retry_after_seconds"`
		}{"rate_limited", p.Detail, max(p.RetryAfter, 1)})
		r.SetRetryAfter(p)
		return r
	}

	r := respond(word.Status, problem{Error: word.Text, Details: p.Detail})
	if word.Status == 503 {
		r.SetRetryAfter(p)
	}
	return r
}

// failExec is fail for POST /v1/exec. The client takes the status 413 there for one that a retry helps, and 400 for one
// that it does not.
func failExec(p *api.Problem, word dialect.Word) dialect.Response {
	if word.Status == 413 {
		word.Status = 400
	}
	return fail(p, word)
}
