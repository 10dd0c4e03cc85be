package service

import (
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/service/auth"
)

// A dialect shows a key its own sessions, under the names that it may use, and those of other keys under none.
func TestADialectOfSessions(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	f := &fakeSessions{}
	web := serveFake(t, f.mux(), withDialects(func(c *Config) { c.Keys = keys }))
	for _, key := range []string{"ann", "bob"} {
		if status := send(t, web, "POST", "/v1/sessions", made, nil, as[key]...); status != 201 { // s1 and s2, of project p and task t
			t.Fatalf("session of %s: %d", key, status)
		}
	}

	const status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`
	spdy := []string{"Upgrade", "SPDY/3.1", "Connection", "Upgrade"}
	for _, tt := range []struct {
		name, method, path string
		header             []string
		status             int
		says               string
	}{
		{"by its id", "GET", "/namespaces/default/pods/s1", as["ann"], 200, `"name":"s1"`},
		{"by its id and project", "GET", "/namespaces/p/pods/s1", as["ann"], 200, `"name":"s1"`},
		{"by its project and task", "GET", "/namespaces/p/pods/t", as["ann"], 200, `"name":"s1"`},
		{"the same name of another key", "GET", "/namespaces/p/pods/t", as["bob"], 200, `"name":"s2"`},
		{"by its task alone", "GET", "/namespaces/default/pods/t", as["ann"], 404, `there is no session \"t\"`},
		{"of another project", "GET", "/namespaces/q/pods/s1", as["ann"], 404, `there is no session \"s1\" in project \"q\"`},
		{"of another key", "GET", "/namespaces/default/pods/s2", as["ann"], 404, `there is no session \"s2\"`},
		{"of another key, by project", "GET", "/namespaces/p/pods/s2", as["ann"], 404, `there is no session \"s2\"`},
		{"none", "GET", "/namespaces/default/pods/x", as["ann"], 404, `"reason":"NotFound"`},
		{"no key", "GET", "/namespaces/default/pods/s1", nil, 401, `drops it over http://`},
		{"an unknown key", "GET", "/namespaces/default/pods/s1", []string{"Authorization", "Bearer brig_x"}, 401, `this key is not known`},
		{"a foreign page", "GET", "/namespaces/default/pods/s1", append([]string{"Origin", "https://evil.example"}, as["ann"]...), 403,
			`"reason":"Forbidden"`},
		{"a foreign page's discovery", "GET", "", []string{"Origin", "https://evil.example"}, 403, `"reason":"Forbidden"`},
		{"discovery needs no key", "GET", "", nil, 200, `"name":"pods/exec"`},
		{"all", "GET", "/pods", as["ann"], 200, `"name":"s1"`},
		{"all of a project", "GET", "/namespaces/p/pods", as["bob"], 200, `"name":"s2"`},
		{"none of a project", "GET", "/namespaces/q/pods", as["ann"], 200, `"items":[]`},
		{"a method that there is not", "DELETE", "/namespaces/default/pods/s1", as["ann"], 405, `"reason":"MethodNotAllowed"`},
		{"no WebSocket", "GET", "/namespaces/default/pods/s1/exec?command=true", as["ann"], 426, `kubectl 1.31 or newer`},
		{"SPDY", "POST", "/namespaces/default/pods/s1/exec?command=true", append(spdy, as["ann"]...), 400, `kubectl 1.31 or newer`},
		{"SPDY to another key's", "POST", "/namespaces/default/pods/s2/exec?command=true", append(spdy, as["ann"]...), 404, `no session`},
		{"SPDY without a key", "POST", "/namespaces/default/pods/s1/exec?command=true", spdy, 401, `drops it over http://`},
		{"exec of another key's", "GET", "/namespaces/default/pods/s2/exec?command=true",
			append([]string{"Upgrade", "websocket", "Connection", "Upgrade"}, as["ann"]...), 404, `no session`},
	} {
		code, text, header := ask(t, tt.method, web.URL+"/k8s/api/v1"+tt.path, "", tt.header...)
		if code != tt.status || !strings.Contains(text, tt.says) || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s %s; want %d %s", tt.name, code, header.Get("Content-Type"), text, tt.status, tt.says)
		}
		if code >= 400 && !strings.HasPrefix(text, status) {
			t.Errorf("%s: %s is no Status", tt.name, text)
		}
	}

	// One that has ended is gone, and says why.
	f.end("s1")
	for range 2 { // the second time the service knows
		if code, text, _ := ask(t, "GET", web.URL+"/k8s/api/v1/namespaces/default/pods/s1", "", as["ann"]...); code != http.StatusNotFound ||
			!strings.Contains(text, "it was idle") {
			t.Errorf("%d %s", code, text)
		}
	}
	if code, text, _ := ask(t, "GET", web.URL+"/k8s/api/v1/pods", "", as["ann"]...); code != 200 || !strings.Contains(text, `"items":[]`) {
		t.Errorf("%d %s", code, text)
	}
}
