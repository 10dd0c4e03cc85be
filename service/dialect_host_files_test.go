package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/hostfiles"
)

// Files of the host are for keys that may name them, and below the folder of the operator: what else a request of
// go-judge's clients names is refused, and no run begins.
func TestFilesOfTheHost(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("1.in", "in")
	write("1.ans", "answer")
	write("half", strings.Repeat("y", 1<<10))
	write("more", strings.Repeat("z", 1<<10+1))
	write("large", strings.Repeat("x", 2<<10+1))
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	many := map[string]any{}
	for i := range maxHostFiles + 1 {
		write(fmt.Sprint("many", i), "")
		many[fmt.Sprint(i)] = map[string]string{"src": filepath.Join(dir, fmt.Sprint("many", i))}
	}
	folder, err := hostfiles.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()

	keys, as := keysOf(t, auth.Key{Name: "ann", HostFiles: true}, auth.Key{Name: "bob"})
	open := serveFake(t, (&blobAgent{blobs: map[string][]byte{}}).mux(), withDialects(func(c *Config) { c.HostFiles = folder }))
	keyed := serveFake(t, (&blobAgent{blobs: map[string][]byte{}}).mux(),
		withDialects(func(c *Config) { c.Keys, c.HostFiles, c.MaxBlob = keys, folder, 2*api.KiB }))
	none := serveFake(t, (&blobAgent{blobs: map[string][]byte{}}).mux(), withDialects())

	src := func(name string) map[string]string { return map[string]string{"src": dir + "/" + name} }
	for _, tt := range []struct {
		name, url, key string
		stdin, copyIn  any
		status         int
		says           string
	}{
		{"read", open.URL, "", src("1.in"), map[string]any{"f": src("1.ans"), "g": src("1.in")}, 200, `"stdout":"inf=answer;g=in;"`},
		{"a key that may", keyed.URL, "ann", src("1.in"), map[string]any{"f": src("1.ans")}, 200, `"stdout":"inf=answer;"`},
		{"a key that may not", keyed.URL, "bob", src("1.in"), nil, 403, "host_files: true on the key bob"},
		{"one that may not, in copyIn", keyed.URL, "bob", nil, map[string]any{"f": src("1.ans")}, 403, "host_files: true on the key bob"},
		{"no folder", none.URL, "", src("1.in"), nil, 400, "--go-judge-src DIR"},
		{"the folder's own parent", open.URL, "", src("../x"), nil, 400, "leads out of"},
		{"a link", open.URL, "", src("link"), nil, 400, "leads out of"},
		{"another folder", open.URL, "", map[string]string{"src": "/etc/passwd"}, nil, 400, "is not below"},
		{"a FIFO", open.URL, "", nil, map[string]any{"f": src("fifo")}, 400, "is a FIFO"},
		{"none", open.URL, "", src("none"), nil, 400, "does not exist"},
		{"a large one", keyed.URL, "ann", src("large"), nil, 413, "the maximum is 2K"},
		{"the most together", keyed.URL, "ann", src("half"), map[string]any{"f": src("half"), "g": src("d/../half")}, 200, "yyyy"},
		{"too large together", keyed.URL, "ann", src("half"), map[string]any{"f": src("more")}, 413, "more than 2K together"},
		{"the same by two names", keyed.URL, "ann", src("more"), map[string]any{"f": src("d/../more")}, 413, "more than 2K together"},
		{"too many", open.URL, "", nil, many, 400, "more than 256 files"},
	} {
		body, err := json.Marshal(map[string]any{"cmd": []any{map[string]any{"args": []string{"a"}, "copyIn": tt.copyIn,
			"files": []any{tt.stdin, map[string]any{"name": "stdout", "max": 1000}}}}})
		if err != nil {
			t.Fatal(err)
		}
		var header []string
		if tt.key != "" {
			header = as[tt.key]
		}
		status, text, _ := ask(t, "POST", tt.url+"/go-judge/run", string(body), header...)
		if status != tt.status || !strings.Contains(text, tt.says) {
			t.Errorf("%s: %d %.300s; want %d %s", tt.name, status, text, tt.status, tt.says)
		}
	}
}

// A command that reads what another one wrote runs after it. What is more than a result carries is an error, and never
// the input of the other one in part.
func TestPipesFeed(t *testing.T) {
	cut := false
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var asked api.Run
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "%w", err))
			return
		}
		say(w, 200, api.Result{Verdict: api.OK, StdoutTruncated: cut, Stdout: api.Bytes(asked.Argv[0] + "(" + string(asked.Stdin) + ")")})
	})
	web := serveFake(t, mux, withDialects())

	body := `{"cmd":[{"args":["c"],"files":[null,{"name":"stdout","max":99}]},{"args":["a"],"files":[{"content":"x"},null]},
		{"args":["b"]}],"pipeMapping":[{"in":{"index":2,"fd":1},"out":{"index":0,"fd":0}},
		{"in":{"index":1,"fd":1},"out":{"index":2,"fd":0}}]}`
	if status, text, _ := ask(t, "POST", web.URL+"/go-judge/run", body); status != 200 || !strings.Contains(text, `"stdout":"c(b(a(x)))"`) {
		t.Errorf("%d %s", status, text)
	}
	cut = true
	if status, text, _ := ask(t, "POST", web.URL+"/go-judge/run", body); status != 413 || !strings.Contains(text, "let it write less") {
		t.Errorf("%d %s", status, text)
	}
}
