package network

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testservice"
)

// The service installs packages for runs in each form of request and for sessions, for keys that may have
// them, from the operator's index alone, and once however many ask.
func TestGatewayPackages(t *testing.T) {
	a, x := startInstaller(t, append([]string{"--packages"}, harness.SharedFlags...)...), newIndex(t)
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 41\n"}, "two")
	x.wheel(t, "two", "2.0", "", map[string]string{"two.py": "y = 1\n"})
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	text = bytes.Replace(text, []byte("}"), []byte(", packages: true}"), 1) // the first key, ann's
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	s := harness.StartService(t, a, "--keys", file, "--python-index", x.url)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])

	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			var out api.Executed
			ann.Call("POST", "/execute", `{"code":"import one, two\nprint(one.x + two.y)","requirements":["one==1.*"]}`, 200, &out)
			if out.Status != "success" || out.Result == nil || *out.Result != "42" {
				t.Errorf("/execute: %s", harness.Marshal(t, out))
			}
		})
	}

	all.Wait()
	if n := x.downloads("one-1.0-py3-none-any.whl"); n != 1 {
		t.Errorf("%d downloads; want one", n)
	}

	var res api.Result
	run := `{"language":"python","source":"import one\nprint(one.x)","requirements":["one==1.*"]}`
	ann.Call("POST", "/v1/runs", run, 200, &res)
	if p := res.Packages; string(res.Stdout) != "41\n" || p == nil || len(p.Installed) != 2 || p.Index+p.Used+p.Created != "" {
		t.Errorf("/v1/runs: %q, %q, %+v", res.Stdout, res.Stderr, res.Packages)
	}

	var status api.Status
	ann.Call("POST", "/v1/runs?wait=false", `{"language":"python","source":"import two\nprint(two.y)","requirements":["two"]}`, 202, &status)
	if done := ann.WaitDone(status.Run); done.Result == nil || string(done.Result.Stdout) != "1\n" {
		t.Errorf("a run in the background: %+v", done)
	}

	ann.Call("POST", "/v1/runs",
		`{"language":"python","source":"import two\nprint(two.y)","requirements":["two"],"tests":[{"id":"1","expected":"1"}]}`, 200, &res)
	if res.Summary == nil || res.Summary.Accepted != 1 {
		t.Errorf("tests: %+v", res.Summary)
	}

	var session api.Session
	ann.Call("POST", "/v1/sessions", `{"language":"python","requirements":["two<3"]}`, 201, &session)
	ann.Call("POST", "/v1/sessions/"+session.ID+"/exec", `{"source":"import two\nprint(two.y)"}`, 200, &res)
	if string(res.Stdout) != "1\n" {
		t.Errorf("a session: %q, %q", res.Stdout, res.Stderr)
	}

	ann.Call("DELETE", "/v1/sessions/"+session.ID, nil, 204, nil)

	ann.Refused("POST", "/execute", `{"code":"1","requirements":["--pre"]}`, 400, api.CodeBadRequest)
	ann.Refused("POST", "/execute", `{"code":"1","language":"bash","requirements":["one"]}`, 400, api.CodeBadRequest)
	var p api.Problem
	ann.Call("POST", "/execute", `{"code":"1","requirements":["absent"]}`, 422, &p)
	if p.Code != api.CodePackagesFailed || !strings.Contains(p.Detail, "No matching distribution found for absent") {
		t.Errorf("absent: %+v; want pip's words", p)
	}

	ann.Refused("POST", "/v1/runs", strings.Replace(run, `"requirements"`, `"index":"http://evil.test/","requirements"`, 1),
		403, api.CodeForbidden)
	bob.Refused("POST", "/v1/runs", run, 403, api.CodeForbidden) // although they are installed
	bob.Refused("POST", "/v1/sessions", `{"language":"python","requirements":["two"]}`, 403, api.CodeForbidden)
	bob.Call("POST", "/v1/runs", `{"language":"python","source":"print(1)"}`, 200, &res)
}

// An agent that installs for root alone is found when the service starts.
func TestGatewayNeedsAnAgentThatInstalls(t *testing.T) {
	a := startInstaller(t, harness.SharedFlags...)
	own, err := testservice.Start(harness.Binary(t, "brig"), time.Until(harness.Patience()), "--socket", a.Socket, "--data-dir",
		filepath.Join(a.Dir, "gateway"), "--packages")
	if err == nil {
		_ = own.Stop(harness.Slow(30 * time.Second))
		t.Fatal("a service starts that offers more than its agent")
	}
	if !strings.Contains(err.Error(), "start it with brigd --packages") {
		t.Error(err)
	}
}
