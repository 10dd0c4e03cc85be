package compatibility

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A client of LibreChat's code interpreter that is pointed at brig uploads a file, has a program read and change it, and
// gets what the program leaves, in this call and the next.
func TestLibreChat(t *testing.T) {
	a := harness.StartAgent(t, append([]string{"--max-cpu", harness.Slowly(3).String()}, harness.SharedFlags...)...) // for the late program
	a.NeedPython(t)
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "librechat")

	send := func(method, path, kind string, body []byte) (int, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Url+"/librechat/v1"+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", keys["ann"])
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, answer
	}

	type ref struct {
		ID, Name string
		FileID   string `json:"fileId,omitempty"`
		Session  string `json:"session_id"`
	}
	type answer struct {
		Session               string `json:"session_id"`
		Stdout, Stderr, Error string
		Files                 []ref
	}
	exec := func(code string, files ...ref) (got answer) {
		t.Helper()
		var list []map[string]string
		for _, f := range files {
			list = append(list, map[string]string{"id": f.ID, "session_id": f.Session, "name": f.Name})
		}
		body, err := json.Marshal(map[string]any{"lang": "py", "code": code, "files": list})
		if err != nil {
			t.Fatal(err)
		}
		status, raw := send("POST", "/exec", "application/json", body)
		if err := json.Unmarshal(raw, &got); status != 200 || err != nil {
			t.Fatalf("%d %s, %v", status, raw, err)
		}
		return got
	}

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "in.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte("1,2\n"))
	_ = w.Close()
	var uploaded answer
	status, raw := send("POST", "/upload", w.FormDataContentType(), form.Bytes())
	if err := json.Unmarshal(raw, &uploaded); status != 200 || err != nil || len(uploaded.Files) != 1 {
		t.Fatalf("%d %s, %v", status, raw, err)
	}

	first := exec("print(open('in.csv').read())\nopen('plot.png', 'wb').write(b'\\xffPNG')\nopen('in.csv', 'w').write('new')", uploaded.Files...)
	if first.Stdout != "1,2\n\n" || first.Error != "" || len(first.Files) != 2 || first.Session == uploaded.Session {
		t.Fatalf("%+v", first)
	}
	for _, f := range first.Files {
		want := map[string]string{"in.csv": "new", "plot.png": "\xffPNG"}[f.Name]
		if status, content := send("GET", "/download/"+f.Session+"/"+f.ID, "", nil); status != 200 || string(content) != want {
			t.Errorf("%+v: %d %q", f, status, content)
		}
	}

	if next := exec("import os\nprint(sorted(os.listdir()), open('in.csv').read())", first.Files...); next.Stderr != "" ||
		!bytes.Contains([]byte(next.Stdout), []byte("'plot.png'")) || !bytes.HasSuffix([]byte(next.Stdout), []byte("new\n")) {
		t.Errorf("%+v", next)
	}
	if failed := exec("raise ValueError('x')"); failed.Error != "" || !bytes.Contains([]byte(failed.Stderr), []byte("ValueError: x")) {
		t.Errorf("%+v", failed)
	}

	// Programs know their directory as /mnt/data, and so does the client, which reads and writes files by such commands.
	if absolute := exec("print(open('/mnt/data/in.csv').read())\nopen('/mnt/data/out.txt', 'w').write('x')", first.Files...); absolute.Stdout != "new\n" ||
		!slices.ContainsFunc(absolute.Files, func(f ref) bool { return f.Name == "out.txt" }) {
		t.Errorf("%+v", absolute)
	}

	// The client shows nothing of error, and a text of its own for every other status: what happened must be in stderr.
	for _, tt := range []struct {
		what   string
		got    answer
		err    string
		stderr string
	}{
		{"a late program", exec("while True: pass"), "Time limit exceeded", "The program was ended: it "},
		{"a large one", exec("b'x' * (3 << 30)"), "", "The program was ended: it "},
		{"one that is killed", exec("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
			"Execution failed or timed out", "it got the signal SIGKILL"},
		{"a silent failure", exec("import sys\nsys.exit(3)"), "", "The program ended with the exit code 3."},
		{"a file that is not kept", exec("print(1)", ref{ID: "none", Session: "none", Name: "a.csv"}), "Execution failed or timed out",
			"was not run: the file a.csv is not kept"},
	} {
		if tt.got.Stdout != "" || tt.got.Error != tt.err && tt.err != "" || !strings.Contains(tt.got.Stderr, tt.stderr) {
			t.Errorf("%s: %+v", tt.what, tt.got)
		}
	}

	// Before a run the client asks whether it must send a file again.
	f := first.Files[0]
	var known struct {
		Modified time.Time `json:"lastModified"`
	}
	status, raw = send("GET", "/sessions/"+f.Session+"/objects/"+f.ID+"?kind=user&id=u", "", nil)
	if err := json.Unmarshal(raw, &known); status != 200 || err != nil || time.Since(known.Modified) > time.Hour {
		t.Errorf("%d %s, %v", status, raw, err)
	}
	if status, raw = send("GET", "/sessions/"+f.Session+"/objects/none", "", nil); status != 404 {
		t.Errorf("%d %s", status, raw)
	}
	if status, _ := send("GET", "/files/"+first.Session+"?detail=full", "", nil); status != 200 {
		t.Errorf("%d", status)
	}
}
