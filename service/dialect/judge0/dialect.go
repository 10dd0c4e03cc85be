// Package judge0 answers as Judge0 does (github.com/judge0/judge0), the code runner of course sites, editors and bots: a
// submission is executed, its output compared with the expected one, and its outcome asked for by a token.
package judge0

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// version is the one that is emulated. Clients choose their table of languages by it.
const version = "1.13.1"

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:       dialect.Judge0,
	Of:         "Judge0 " + version,
	Address:    "127.0.0.1:2358",
	KeyHeaders: []string{"X-Auth-Token"},
	Routes: []dialect.Route{
		{Method: "GET", Path: "/{$}", Open: true, Plan: planEmpty(200)},

		{Method: "POST", Path: "/submissions", Plan: planCreate},
		{Method: "POST", Path: "/submissions/{$}", Plan: planCreate},
		{Method: "GET", Path: "/submissions/{token}", Plan: planShow},
		{Method: "POST", Path: "/submissions/batch", Plan: planCreateBatch},
		{Method: "GET", Path: "/submissions/batch", Plan: planShowBatch},
		{Method: "GET", Path: "/submissions", Plan: planEmpty(403)},            // for administrators of the original, as the next
		{Method: "DELETE", Path: "/submissions/{token}", Plan: planEmpty(403)}, // are

		{Method: "GET", Path: "/languages", Plan: planLanguages},
		{Method: "GET", Path: "/languages/all", Plan: planAllLanguages},
		{Method: "GET", Path: "/languages/{id}", Plan: planLanguage},
		{Method: "GET", Path: "/statuses", Plan: planStatuses},

		{Method: "GET", Path: "/about", Plan: planAbout},
		{Method: "GET", Path: "/version", Plan: planVersion},
		{Method: "GET", Path: "/config_info", Plan: planConfig},
		{Method: "GET", Path: "/system_info", Plan: planSystem},
		{Method: "POST", Path: "/authenticate", Plan: planEmpty(200)}, // keys are checked before anything is planned
		{Method: "POST", Path: "/authorize", Plan: planEmpty(403)},
	},
	Fail: fail,
}

// respond makes a response of JSON, with the characters of HTML escaped, as in the original.
func respond(status int, v any) dialect.Response {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible: the values are texts, numbers and lists of them
	}
	return dialect.Response{Status: status, Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, Body: text}
}

// said is the body of most errors.
type said struct {
	Error string `json:"error"`
}

// refuse is a plan that has an error.
func refuse(status int, message string) dialect.Plan {
	return dialect.Refuse(respond(status, said{message}))
}

// empty is a response without a body.
func empty(status int) dialect.Response { return dialect.Response{Status: status} }

func planEmpty(status int) func(dialect.Request, dialect.Agent) dialect.Plan {
	return func(dialect.Request, dialect.Agent) dialect.Plan { return dialect.Refuse(empty(status)) }
}

// missing is the answer about what there is not.
func missing() dialect.Response {
	return respond(404, struct {
		Status int    `json:"status"`
		Error  string `json:"error"`
	}{404, "Not Found"})
}

func fail(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case p.Status == 405 || p.Status == 415:
		return respond(p.Status, said{p.Detail})
	case word.Status == 401 || word.Status == 403 && p.Detail == "":
		return empty(word.Status)
	case word.Status == 404:
		return missing()
	}

	message := p.Detail
	if p.Code == api.CodeQueueFull || p.Code == api.CodeKeyQueueFull {
		message = "queue is full"
	}
	r := respond(word.Status, said{message})
	if word.Status == 503 {
		r.SetRetryAfter(p)
	}
	return r
}

func planAbout(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Refuse(respond(200, struct {
		Version    string `json:"version"`
		Homepage   string `json:"homepage"`
		Source     string `json:"source_code"`
		Maintainer string `json:"maintainer"`
	}{version, "https://github.com/brig-sandbox/brig", "https://github.com/brig-sandbox/brig", "the operator of this brig service"}))
}

func planVersion(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Refuse(dialect.Response{Status: 200, Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"},
		Body: []byte(version)})
}

// planSystem tells nothing of the host but for which processor its programs are.
func planSystem(dialect.Request, dialect.Agent) dialect.Plan {
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return dialect.Refuse(respond(200, map[string]string{"Architecture": machine}))
}

// A pair is a field of an object whose fields have an order.
type pair struct {
	name  string
	value any
}

// An ordered object has its fields in their order.
type ordered []pair

// MarshalJSON implements json.Marshaler.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		b.WriteString(strconv.Quote(p.name) + ":")
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
