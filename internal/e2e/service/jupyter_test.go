package service

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A jupyterKernel is a client of a kernel, with a key.
type jupyterKernel struct {
	t    *testing.T
	base string
	id   string
}

// call sends a request, and returns the status and the JSON of the answer.
func (k jupyterKernel) call(method, path, auth string) (status int, v map[string]any) {
	k.t.Helper()
	r, err := http.NewRequestWithContext(k.t.Context(), method, k.base+path, http.NoBody)
	if err != nil {
		k.t.Fatal(err)
	}
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	defer res.Body.Close()
	_ = json.NewDecoder(res.Body).Decode(&v) // an answer without a body
	return res.StatusCode, v
}

// open connects to the kernel; nil: the answer has another status than 101.
func (k jupyterKernel) open(query string, header http.Header) (*websocket.Conn, int) {
	k.t.Helper()
	at := "ws" + strings.TrimPrefix(k.base, "http") + "/api/kernels/" + k.id + "/channels" + query
	c, res, err := websocket.Dial(k.t.Context(), at, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		if res == nil {
			k.t.Fatal(err)
		}
		return nil, res.StatusCode
	}
	c.SetReadLimit(64 << 20)
	k.t.Cleanup(func() { _ = c.CloseNow() })
	return c, http.StatusSwitchingProtocols
}

func executeMessage(id, code string) []byte {
	b, _ := json.Marshal(map[string]any{"channel": "shell", "header": map[string]string{"msg_id": id, "msg_type": "execute_request"},
		"parent_header": struct{}{}, "metadata": struct{}{}, "content": map[string]string{"code": code}})
	return b
}

// untilIdle executes code and returns what the program wrote to stdout.
func (k jupyterKernel) untilIdle(c *websocket.Conn, code string) (out string) {
	k.t.Helper()
	if err := c.Write(k.t.Context(), websocket.MessageText, executeMessage("m1", code)); err != nil {
		k.t.Fatal(err)
	}
	for {
		var m struct {
			Content struct {
				State string `json:"execution_state"`
				Text  string
			}
		}
		_, b, err := c.Read(k.t.Context())
		if err != nil || json.Unmarshal(b, &m) != nil {
			k.t.Fatalf("%s: %v", b, err)
		}
		out += m.Content.Text
		if m.Content.State == "idle" {
			return out
		}
	}
}

// A kernel of Jupyter is its key's alone: by header or parameter, for requests and WebSockets, and for no foreign page.
// It has a session of its own, which ends with it.
func TestJupyterKeys(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "jupyter").WithKey(keys["ann"])
	k := jupyterKernel{t: t, base: s.Url + "/jupyter"}
	ann, bob := "token "+keys["ann"], "token "+keys["bob"]

	if status, _ := k.call("POST", "/api/kernels", ""); status != http.StatusForbidden {
		t.Errorf("without a key: %d", status)
	}
	if status, _ := k.call("POST", "/api/kernels?token=nokey", ""); status != http.StatusForbidden {
		t.Errorf("with a wrong key: %d", status)
	}
	status, made := k.call("POST", "/api/kernels?token="+keys["ann"], "")
	k.id, _ = made["id"].(string)
	if status != http.StatusCreated || strings.Count(k.id, "-") != 4 {
		t.Fatalf("%d, %v", status, made)
	}

	for _, path := range []string{"GET ", "DELETE ", "POST /interrupt", "POST /restart", "GET /channels"} {
		method, rest, _ := strings.Cut(path, " ")
		if status, v := k.call(method, "/api/kernels/"+k.id+rest, bob); status != http.StatusNotFound {
			t.Errorf("%s of another key: %d, %v", path, status, v)
		}
	}
	header := func(name, value string) http.Header { return http.Header{name: {value}} }
	for name, test := range map[string]struct {
		query  string
		header http.Header
		want   int
	}{
		"another key":    {"?token=" + keys["bob"], nil, http.StatusNotFound},
		"no key":         {"", nil, http.StatusForbidden},
		"a foreign page": {"?token=" + keys["ann"], header("Origin", "https://evil.example"), http.StatusForbidden},
		"a page of none": {"?token=" + keys["ann"], header("Origin", "null"), http.StatusForbidden},
		"the parameter":  {"?token=" + keys["ann"], nil, http.StatusSwitchingProtocols},
		"the header":     {"", header("Authorization", ann), http.StatusSwitchingProtocols},
	} {
		if _, got := k.open(test.query, test.header); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}

	// What means nothing, or is too long, ends its connection alone.
	for name, test := range map[string]struct {
		message []byte
		want    websocket.StatusCode
	}{
		"no JSON":           {[]byte("x"), websocket.StatusPolicyViolation},
		"a channel of ours": {[]byte(`{"channel":"iopub","header":{"msg_id":"1","msg_type":"x"}}`), websocket.StatusPolicyViolation},
		"too long":          {executeMessage("1", strings.Repeat("#", 3<<20)), websocket.StatusMessageTooBig},
	} {
		c, _ := k.open("", header("Authorization", ann))
		if err := c.Write(t.Context(), websocket.MessageText, test.message); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A client that leaves interrupts its cell, and the variables stay.
	c, _ := k.open("", header("Authorization", ann))
	if out := k.untilIdle(c, "x = 20\nprint(x)"); out != "20\n" {
		t.Errorf("%q", out)
	}
	left, _ := k.open("", header("Authorization", ann))
	if err := left.Write(t.Context(), websocket.MessageText, executeMessage("m2", "print('begun')\nwhile True: pass")); err != nil {
		t.Fatal(err)
	}
	for {
		if _, b, err := left.Read(t.Context()); err != nil || strings.Contains(string(b), "begun\\n\"") {
			break
		}
	}
	_ = left.CloseNow()
	if out := k.untilIdle(c, "print(x)"); out != "20\n" {
		t.Errorf("after a hang-up: %q", out)
	}

	if status, _ := k.call("DELETE", "/api/kernels/"+k.id, ann); status != http.StatusNoContent {
		t.Errorf("delete: %d", status)
	}
	var page api.Page[api.Session]
	if s.Call("GET", "/v1/sessions", nil, http.StatusOK, &page); len(page.Items) != 0 {
		t.Errorf("the session of the kernel goes on: %+v", page.Items)
	}
}
