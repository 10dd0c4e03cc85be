package service

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// Over HTTP, Piston's own errors are told in its words, and what fails because of brig is 503 or 500.
func TestPistonOverHTTP(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"})
	web := serveFake(t, echoAgent(), withDialects(func(c *Config) { c.Keys = keys; c.MaxBody = 2 * api.MiB }))
	ann := as["ann"]
	bare := []string{"Authorization", strings.TrimPrefix(ann[1], "Bearer ")} // as clients of the public Piston send it
	const run = `{"language":"python","version":"*","files":[{"content":"hello"}],"unknown":1}`

	for _, tt := range []struct {
		name   string
		method string
		path   string
		body   string
		header []string
		status int
		says   string
	}{
		{"a run", "POST", "/api/v2/execute", run, ann, 200, `"stdout":"hello"`},
		{"the key as it is", "POST", "/api/v2/execute", run, bare, 200, `"run":{"signal":null,"stdout":"hello"`},
		{"no key", "POST", "/api/v2/execute", run, nil, 401, `{"message":"this service needs a key`},
		{"a wrong key", "GET", "/api/v2/runtimes", "", []string{"Authorization", "x"}, 401, `{"message":"this key is not known`},
		{"the root", "GET", "/", "", nil, 200, `{"message":"Piston v3.1.1"}`},
		{"runtimes", "GET", "/api/v2/runtimes", "", ann, 200, `"language":"python"`},
		{"packages", "GET", "/api/v2/packages", "", ann, 200, `"installed":true`},
		{"another type", "POST", "/api/v2/execute", run, append([]string{"Content-Type", "text/plain"}, ann...), 415,
			`{"message":"requests must be of type application/json"}`},
		{"no JSON", "POST", "/api/v2/execute", "{", ann, 400, `"stack":"SyntaxError: `},
		{"no language", "POST", "/api/v2/execute", "{}", ann, 400, `{"message":"language is required as a string"}`},
		{"an unknown path", "GET", "/api/v2/nothing", "", ann, 404, `{"message":"Not Found"}`},
		{"an older version", "POST", "/api/v1/execute", run, ann, 404, `{"message":"Not Found"}`},
		{"a live session", "GET", "/api/v2/connect", "", ann, 404, `{"message":"Not Found"}`},
		{"a wrong method", "GET", "/api/v2/execute", "", ann, 404, `{"message":"Not Found"}`},
		{"too large", "POST", "/api/v2/execute", strings.Repeat(" ", 3<<20), ann, 413, `{"message":"the request is larger than`},
		{"a foreign page", "POST", "/api/v2/execute", run, append([]string{"Origin", "https://evil.example"}, ann...), 403,
			`{"message":"a web page of`},
		{"an agent that has gone", "POST", "/api/v2/execute", strings.Replace(run, "hello", "gone", 1), ann, 503, `{"message":"brig could not`},
	} {
		status, text, header := ask(t, tt.method, web.URL+"/piston"+tt.path, tt.body, tt.header...)
		if status != tt.status || !strings.Contains(text, tt.says) || header.Get("Content-Type") != "application/json; charset=utf-8" ||
			(status == http.StatusServiceUnavailable) != (header.Get("Retry-After") != "") {
			t.Errorf("%s: %d %.300s, %v\nwant %d %s", tt.name, status, text, header, tt.status, tt.says)
		}
	}

	var page api.Page[api.Record]
	if send(t, web, "GET", "/v1/history", "", &page, ann...); len(page.Items) != 3 {
		t.Fatalf("%+v", page)
	}
	for _, r := range page.Items {
		if r.Dialect != "piston" || r.Owner != "ann" || r.Project != "piston" {
			t.Errorf("%+v", r)
		}
	}
}
