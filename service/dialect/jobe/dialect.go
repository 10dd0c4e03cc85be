// Package jobe answers as Jobe does (github.com/trampgeek/jobe), the sandbox in which CodeRunner, a question type of
// Moodle, executes what students write.
package jobe

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:       dialect.Jobe,
	Of:         "Jobe cffff99685a7 (2025-09-20)",
	Address:    "127.0.0.1:4000",
	KeyHeaders: []string{"X-API-KEY"},
	Routes:     routes(),
	Fail:       fail,
}

// bases are the paths below which clients expect the operations. With the prefix /jobe, the second is what is left of
// the first.
var bases = []string{"/jobe/index.php/restapi", "/index.php/restapi", "/restapi"}

func routes() (all []dialect.Route) {
	for _, base := range bases {
		for _, end := range []string{"", "/{$}"} {
			all = append(all,
				dialect.Route{Method: "GET", Path: base + "/languages" + end, Plan: planLanguages, Fail: failPlainly},
				dialect.Route{Method: "PUT", Path: base + "/files/{id}" + end, Plan: planPut, Fail: failPlainly},
				dialect.Route{Method: "HEAD", Path: base + "/files/{id}" + end, Plan: planHead, Fail: failPlainly},
				dialect.Route{Method: "POST", Path: base + "/runs" + end, Plan: planRun})
		}
	}
	return all
}

// respond makes a response of JSON. Errors are JSON texts.
func respond(status int, v any) dialect.Response {
	return dialect.JSON(status, "application/json", v)
}

// empty is a response without a body.
func empty(status int) dialect.Response {
	return dialect.Response{Status: status, Header: map[string]string{"Content-Type": "application/json"}}
}

// missingFile is the answer after which CodeRunner sends all files, and the run once more.
const missingFile = "One or more of the specified files is missing/unavailable"

// fail tells a failure of brig. The original's outcome 20 is not for it: CodeRunner takes that for a wrong answer of the
// student, and an HTTP error for a failure of the sandbox.
func fail(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case word.Status == 200:
		return respond(200, answer{Run: "0", Outcome: word.Number})
	case p.Status == 405:
		return respond(405, p.Detail)
	case p.Code == api.CodeUnauthorized:
		return keyRefused(p)
	case p.Code == api.CodeNoBlob:
		return respond(404, missingFile)
	case word.Status == 500:
		return respond(500, "Server exception ("+p.Detail+")")
	}
	return respond(word.Status, p.Detail)
}

// failPlainly is fail where an outcome would be no answer: clients read the status.
func failPlainly(p *api.Problem, word dialect.Word) dialect.Response {
	if word.Status == 200 {
		return respond(503, p.Detail)
	}
	return fail(p, word)
}

// keyRefused has the original's text, which is no JSON.
func keyRefused(p *api.Problem) dialect.Response {
	text := "Unknown API key"
	if strings.HasPrefix(p.Detail, "this service needs a key") {
		text = "Missing API key"
	}
	return dialect.Response{Status: 403, Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"},
		Body: []byte(text)}
}

// planLanguages is GET /languages.
func planLanguages(_ dialect.Request, on dialect.Agent) dialect.Plan {
	all := [][2]string{}
	for _, l := range languages {
		if found, stored := on.Find(l.brig...); stored {
			all = append(all, [2]string{l.id, found.Version})
		}
	}
	return dialect.Refuse(respond(200, all))
}
