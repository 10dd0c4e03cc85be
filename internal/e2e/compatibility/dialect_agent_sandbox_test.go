package compatibility

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A client of agent-sandbox executes commands in a session, and writes, reads, lists and removes its files, by the API of the
// Python runtime and by that of sandboxd. Another key finds no session, and no path leads out of /box.
func TestAgentSandbox(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "agent-sandbox").WithKey(keys["ann"])
	var session api.Session
	s.Call("POST", "/v1/sessions", api.SessionRequest{Image: "tiny"}, http.StatusCreated, &session)

	key := keys["ann"]
	do := func(want int, method, path, kind, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Url+"/agent-sandbox"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("X-Sandbox-ID", session.ID)
		req.Header.Set("X-Sandbox-Namespace", "default")
		req.Header.Set("X-Sandbox-Port", "8888")
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		res, err := http.DefaultClient.Do(req)
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
	is := func(want, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	const asJSON, asBytes = "application/json", "application/octet-stream"

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "data/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(part, "echo ran $1\n")
	w.Close()
	is(`{"message":"File 'data/run.sh' uploaded successfully."}`, do(200, "POST", "/upload", w.FormDataContentType(), form.String()))

	is(`{"stdout":"ran $x\n","stderr":"","exit_code":0}`, do(200, "POST", "/execute", asJSON, `{"command":"sh data/run.sh '$x'"}`))
	is(`{"stdout":"/box\n","stderr":"no\n","exit_code":3}`,
		do(200, "POST", "/execute", asJSON, `{"command":"sh -c \"pwd; echo no >&2; exit 3\""}`))
	is(`{"stdout":"","stderr":"","exit_code":-15}`, do(200, "POST", "/execute", asJSON, `{"command":"sh -c 'kill -TERM $$'"}`))
	if got := do(200, "POST", "/execute", asJSON, `{"command":"nothing"}`); !strings.Contains(got, `"stderr":"Failed to execute command: `) ||
		!strings.Contains(got, `"exit_code":1`) {
		t.Errorf("a command that there is not: %s", got)
	}

	is("echo ran $1\n", do(200, "GET", "/download/data%2Frun.sh", "", ""))
	do(404, "GET", "/download/data", "", "")
	is(`{"path":"data","exists":true}`, do(200, "GET", "/exists/data", "", ""))
	is(`{"path":"other","exists":false}`, do(200, "GET", "/exists/other", "", ""))
	if got := do(200, "GET", "/list/data", "", ""); !strings.HasPrefix(got, `[{"name":"run.sh","size":12,"type":"file","mod_time":1`) {
		t.Errorf("a list: %s", got)
	}
	do(403, "GET", "/download/..%2Fetc%2Fpasswd", "", "")

	do(204, "PUT", "/v1/files/bin%2Ftool?mode=0755", asBytes, "#!/bin/sh\necho tool\n")
	is(`{"stdout":"tool\n","stderr":"","exit_code":0}`, do(200, "POST", "/execute", asJSON, `{"command":"bin/tool"}`))
	is("", do(200, "HEAD", "/v1/files/bin%2Ftool", "", ""))
	do(404, "HEAD", "/v1/files/bin%2Fother", "", "")
	is("#!/bin/sh\necho tool\n", do(200, "GET", "/v1/files/bin%2Ftool", "", ""))
	if got := do(200, "GET", "/v1/files/bin", "", ""); !strings.Contains(got, `{"path":"/bin","entries":[{"name":"tool","size":20,"type":"file"`) ||
		!strings.Contains(got, `"mode":"0755"`) {
		t.Errorf("a list of sandboxd: %s", got)
	}
	do(400, "PUT", "/v1/files/bin", asBytes, "x")
	do(409, "DELETE", "/v1/files/bin", "", "")
	do(204, "DELETE", "/v1/files/bin?recursive=true", "", "")
	do(404, "DELETE", "/v1/files/bin", "", "")
	if got := do(200, "GET", "/v1/health", "", ""); !strings.HasPrefix(got, `{"status":"ok","uptime_seconds":`) {
		t.Errorf("health: %s", got)
	}

	// A link is read with the rights of the session's programs, below its root, and is not listed.
	do(200, "POST", "/execute", asJSON, `{"command":"ln -s /etc/passwd l"}`)
	if got := do(200, "GET", "/v1/files/l", "", ""); !strings.Contains(got, "sandboxuser:x:1000:") {
		t.Errorf("a link to the session's own /etc/passwd: %s", got)
	}
	do(200, "POST", "/execute", asJSON, `{"command":"ln -s /etc/shadow /box/s"}`)
	do(404, "GET", "/v1/files/s", "", "") // the image has none
	if got := do(200, "GET", "/list/", "", ""); strings.Contains(got, `"l"`) || !strings.Contains(got, `"data"`) {
		t.Errorf("a list with a link: %s", got)
	}

	key = keys["bob"]
	do(404, "GET", "/download/data%2Frun.sh", "", "")
	do(404, "POST", "/execute", asJSON, `{"command":"ls"}`)
	do(503, "GET", "/v1/health", "", "")
	key = "none"
	do(401, "POST", "/execute", asJSON, `{"command":"ls"}`)
	key = keys["ann"]
	s.Call("DELETE", "/v1/sessions/"+session.ID, nil, http.StatusNoContent, nil)
	do(404, "POST", "/execute", asJSON, `{"command":"ls"}`)
}
