package compatibility

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A client of E2B makes a sandbox with its key, and has a token for the rest: it runs a command, writes and reads a file
// and executes code. Another key finds nothing of it, another sandbox's token opens nothing, and what follows a command of
// a sandbox that is killed is no answer, but a broken connection.
func TestE2B(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "e2b")

	send := func(method, path, kind string, body []byte, headers ...string) (*http.Response, error) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Url+"/e2b"+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		return http.DefaultClient.Do(req)
	}
	do := func(want int, method, path, kind, body string, headers ...string) string {
		t.Helper()
		res, err := send(method, path, kind, []byte(body), headers...)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		if res.StatusCode != want || err != nil {
			t.Fatalf("%s %s: %d %s, %v; want %d", method, path, res.StatusCode, raw, err, want)
		}
		return string(raw)
	}
	framed := func(message string) string {
		return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))) + message
	}
	const asJSON, asStream = "application/json", "application/connect+json"

	type sandbox struct{ SandboxID, EnvdAccessToken string }
	create := func() (made sandbox) {
		t.Helper()
		raw := do(201, "POST", "/v2/sandboxes", asJSON, `{"templateID":"python","metadata":{"of":"ann"}}`, "X-API-KEY", keys["ann"])
		if err := json.Unmarshal([]byte(raw), &made); err != nil || made.EnvdAccessToken == "" {
			t.Fatalf("%s, %v", raw, err)
		}
		return made
	}
	one, other := create(), create()
	mine := []string{"E2b-Sandbox-Id", one.SandboxID, "X-Access-Token", one.EnvdAccessToken}

	told := do(200, "POST", "/process.Process/Start", asStream,
		framed(`{"process":{"cmd":"/bin/sh","args":["-c","pwd; exit 3"]},"stdin":false}`), mine...)
	for _, want := range []string{`{"event":{"start":{"pid":1}}}`, `{"stdout":"L2hvbWUvdXNlcgo="}`, `"exitCode":3`} { // /home/user
		if !strings.Contains(told, want) {
			t.Errorf("a command: %q has no %s", told, want)
		}
	}

	do(200, "POST", "/files?path=a.txt", "application/octet-stream", "content", mine...)
	if got := do(200, "GET", "/files?path=/box/a.txt", "", "", mine...); got != "content" {
		t.Errorf("the file has %q", got)
	}
	if got := do(200, "POST", "/execute", asJSON, `{"code":"x = 20\nx + 1"}`, mine...); !strings.Contains(got, `"text":"21"`) {
		t.Errorf("a cell: %s", got)
	}
	if got := do(200, "GET", "/v2/sandboxes?metadata=of%3Dann", "", "", "X-API-KEY", keys["ann"]); strings.Count(got, "sandboxID") != 2 {
		t.Errorf("a list: %s", got)
	}

	do(404, "GET", "/sandboxes/"+one.SandboxID, "", "", "X-API-KEY", keys["bob"])
	do(401, "GET", "/sandboxes/"+one.SandboxID, "", "", mine...) // the token is of the sandbox, and not of the API
	do(401, "GET", "/files?path=a.txt", "", "", "E2b-Sandbox-Id", other.SandboxID, "X-Access-Token", one.EnvdAccessToken)
	do(404, "GET", "/files?path=a.txt", "", "", "E2b-Sandbox-Id", one.SandboxID, "X-API-KEY", keys["bob"])
	do(403, "GET", "/files?path=a.txt", "", "", append(mine, "Origin", "http://elsewhere.example")...)

	do(204, "POST", "/sandboxes/"+one.SandboxID+"/timeout", asJSON, `{"timeout":60}`, "X-API-KEY", keys["ann"])
	do(204, "GET", "/health", "", "", mine...)
	res, err := send("POST", "/process.Process/Start", asStream, []byte(framed(`{"process":{"cmd":"cat"},"stdin":true}`)), mine...)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	do(204, "DELETE", "/sandboxes/"+one.SandboxID, "", "", "X-API-KEY", keys["ann"])
	if rest, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("a command of a killed sandbox ended with %q", rest)
	}
	do(502, "GET", "/health", "", "", mine...)
}
