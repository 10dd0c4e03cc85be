package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// API-06: a file name, over each interface that takes one, either names a file below /box or is
// refused; nothing is written anywhere else.
func TestGatewayFileNames(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	id := newSession(s, "", "")
	outside := filepath.Join(a.Dir, "outside")
	for _, name := range []string{
		"", ".", "..", "./", "/", "a/", "a/.", "a/..", "a//b", "./a", "a/../b", "../a", "../../../../../../" + outside, outside, // FIO-03
		"a\x00b", "\xff\xfe", strings.Repeat("x", 256), strings.Repeat("x/", 3000) + "x", // FIO-10
	} {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}

		code := api.CodeBadFile
		if name == "\xff\xfe" { // JSON cannot express it; sent raw, the body is not JSON
			text, code = []byte("\"\xff\xfe\""), api.CodeBadRequest
		}

		s.Refused("POST", "/v1/runs", `{"image":"tiny","argv":["true"],"files":[{"name":`+string(text)+`,"content":"x"}]}`, 400, code)
		s.Refused("POST", "/execute", `{"code":"1","files":{`+string(text)+`:"x"}}`, 400, code)
		if name == "" {
			continue // this path is the list of files
		}

		res, err := s.Request(t.Context(), "PUT", "/v1/sessions/"+id+"/files/"+url.PathEscape(name), strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}

		res.Body.Close()
		if res.StatusCode < 400 || res.StatusCode >= 500 {
			t.Errorf("PUT of file %.60q is answered %s", name, res.Status)
		}
	}

	if _, err := os.Lstat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", outside, err)
	}

	// Names that are merely unusual are valid names (FIO-12).
	for _, name := range []string{"-rf", "compile.sh", "a b", "日本", "..a", "a\nb", "\u202egpj"} {
		r := api.Run{Image: "tiny", Argv: []string{"cat", "./" + name}, Files: []api.File{{Name: name, Content: api.Bytes(name)}}}
		var res api.Result
		s.Call("POST", "/v1/runs", r, 200, &res)
		if string(res.Stdout) != name {
			t.Errorf("the file %q says %q (%s)", name, res.Stdout, res.Stderr)
		}
		at := "/v1/sessions/" + id + "/files/" + url.PathEscape(name)
		s.Call("PUT", at, strings.NewReader(name), 204, nil)
		if got := s.GetText(at); got != name { // API-23: and the headers of the response are intact
			t.Errorf("the session's file %q says %q", name, got)
		}
	}
}

// API-17, API-18, API-19, API-24: nothing that a request names is fetched, installed or called
// back. All of them name one listener, and only the control reaches it.
func TestGatewayFetchesNothing(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	var heard atomic.Int64
	canary := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ConnState: func(_ net.Conn, is http.ConnState) {
			if is == http.StateNew {
				heard.Add(1)
			}
		}}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	served := make(chan struct{})
	go func() { defer close(served); _ = canary.Serve(l) }()
	t.Cleanup(func() { canary.Close(); <-served })
	at := "http://" + l.Addr().String()

	for _, line := range []string{
		"requests", "-r " + at + "/r.txt", "-e git+" + at + "/x", "--index-url " + at, "--find-links " + at, "pkg @ " + at + "/p.whl",
		"pkg @ file:///etc/passwd", "git+ssh://" + l.Addr().String() + "/x", "x; python_version > '3'", "", "-", "\n--pre",
	} {
		body, err := json.Marshal(map[string]any{"code": "print(1)", "requirements": []string{line}})
		if err != nil {
			t.Fatal(err)
		}
		s.Refused("POST", "/execute", string(body), 422, api.CodeUnsupported)
	}

	word := `"` + at + `/x"`
	s.Refused("POST", "/v1/runs", `{"image":`+word+`,"argv":["true"]}`, 404, api.CodeNoImage)
	s.Refused("POST", "/v1/runs", `{"language":`+word+`,"source":"1"}`, 404, api.CodeNoLanguage)
	s.Refused("POST", "/v1/runs", `{"image":"tiny","argv":["true"],"profile":`+word+`}`, 404, api.CodeNoProfile)
	s.Refused("POST", "/v1/runs", `{"image":"tiny","argv":["true"],"stdin_blob":`+word+`}`, 400, api.CodeBadRequest)
	s.Refused("POST", "/v1/runs", `{"image":"tiny","argv":["true"],"callback":`+word+`}`, 400, api.CodeBadRequest)
	s.Refused("POST", "/v1/sessions", `{"image":`+word+`}`, 404, api.CodeNoImage)
	s.Refused("POST", "/execute", `{"code":"1","language":`+word+`}`, 404, api.CodeNoLanguage)
	s.Call("POST", "/v1/runs",
		`{"image":"tiny","argv":["sh","-c","wget -T 2 -O - `+at+`/x"],"env":{"http_proxy":`+word+`}}`, 200, nil) // it has no network
	if n := heard.Load(); n != 0 {
		t.Errorf("the listener was asked %d times", n)
	}

	res, err := http.Get(at) // the control
	if err != nil {
		t.Fatal(err)
	}

	res.Body.Close()
	if heard.Load() == 0 {
		t.Error("the listener hears nothing: the test proves nothing")
	}
}

// API-27: a session is reached with its id and its owner's key. Neither can be guessed, and the id
// of an ended session leads nowhere.
func TestGatewaySessionsAreNotGuessed(t *testing.T) {
	a := harness.StartAgent(t, append([]string{"--sessions", "8"}, harness.SharedFlags...)...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	seen := map[string]string{}
	var ids []string
	for _, task := range []string{"1", "2", "3"} {
		id := newSession(ann, "p", task)
		ids = append(ids, id)
		if len(id) < 16 {
			t.Errorf("id %q can be guessed", id)
		}
		seen[id[:8]], seen[id[len(id)-8:]] = id, id
	}

	if len(seen) != 2*len(ids) {
		t.Errorf("ids %q have parts in common", ids)
	}

	ended := ids[2]
	ann.Call("DELETE", "/v1/sessions/"+ended, nil, 204, nil)
	near := ids[0][:len(ids[0])-1] + "2"
	if near == ids[0] {
		near = near[:len(near)-1] + "3"
	}

	reach := func(who *harness.Service, id string) {
		t.Helper()

		for _, r := range []struct {
			method, path string
			body         any
		}{
			{"GET", "", nil},
			{"POST", "/exec", api.Exec{Argv: []string{"true"}}},
			{"GET", "/files", nil},
			{"GET", "/files/x", nil},
			{"PUT", "/files/x", strings.NewReader("x")},
			{"DELETE", "/files/x", nil},
			{"DELETE", "", nil},
		} {
			res, err := who.Send(t.Context(), r.method, "/v1/sessions/"+id+r.path, r.body)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != 404 && res.StatusCode != 410 {
				t.Errorf("%s %s of session %s: %s", r.method, r.path, id, res.Status)
			}
		}
	}

	reach(bob, ids[0])
	reach(ann, near)
	reach(ann, ended)
	reach(bob, ended)
	for _, id := range ids[:2] {
		harness.WantVerdict(t, ann.ExecIn(id, "test ! -e x"), api.OK)
	}
}

// API-02: behind a proxy all callers have one address. A key that sends its bodies slowly, over
// each interface that takes one, gets its share of the connections and no more: another key is
// served at once, and the slow key's error names the limit.
func TestGatewaySlowBodiesOfAKey(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "slow", "quick")
	s := harness.StartService(t, a, "--keys", file, "--max-conns", "64", "--max-bodies", "32")
	tardy, quick := s.WithKey(keys["slow"]), s.WithKey(keys["quick"])
	const each = 32 / 8
	id := newSession(tardy, "p", "t")
	begin := func(what string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", strings.TrimPrefix(s.Url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := fmt.Fprintf(c,
			"%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: 1000000\r\n\r\n{", what,
			keys["slow"]); err != nil {
			t.Fatal(err)
		}
		return c
	}

	atOnce := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), harness.Slow(10*time.Second))
		defer cancel()
		res, err := quick.Request(ctx, "POST", "/v1/runs", harness.Sh("true"), "Connection", "close")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("another key: %s", res.Status)
		}
	}

	for _, what := range []string{
		"POST /v1/runs", "POST /execute", "POST /v1/check", "POST /v1/sessions", "POST /v1/sessions/" + id + "/exec",
		"PUT /v1/sessions/" + id + "/files/x", "PUT /v1/blobs/" + strings.Repeat("0", 64),
	} {
		var held []net.Conn
		for range each {
			held = append(held, begin(what))
		}

		harness.Eventually(t, what+" at its bound", func() bool {
			res, err := tardy.Request(t.Context(), "POST", "/v1/runs", harness.Sh("true"), "Connection", "close")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()

			var p api.Problem
			if res.StatusCode == 200 { // the earlier requests may still have held the slots
				held = append(held, begin(what))
				return false
			}
			if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != 429 || p.Code != api.CodeTooManyBodies ||
				!strings.Contains(p.Detail, "4 requests of this key") || res.Header.Get("Retry-After") == "" {
				t.Fatalf("%s: %+v (%v)", res.Status, p, err)
			}
			return true
		})

		for range 128 { // twice the number of connections
			held = append(held, begin(what))
		}

		for range 3 {
			atOnce()
		}

		for _, c := range held {
			c.Close()
		}

		harness.Eventually(t, what+" to be given back", func() bool {
			res, err := tardy.Request(t.Context(), "POST", "/v1/runs", harness.Sh("true"), "Connection", "close")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res.StatusCode == 200
		})
	}
}
