package service

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// blobAgent is an agent that keeps blobs. Its runs print the content of their stdin and files, which are blobs, and leave
// the files that are collected.
type blobAgent struct {
	mu    sync.Mutex
	blobs map[string][]byte // guarded by mu
	full  bool              // guarded by mu; what runs leave is in their results instead
}

// keep makes a file of a run a blob, if there is room. It needs mu.
func (a *blobAgent) keep(f api.File) api.File {
	if a.full {
		return f
	}
	sum := sha256.Sum256(f.Content)
	digest := hex.EncodeToString(sum[:])
	a.blobs[digest] = f.Content
	return api.File{Name: f.Name, Blob: digest, Size: api.Size(len(f.Content)), Executable: f.Executable}
}

func (a *blobAgent) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/languages", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, []api.Language{{Name: "c", Extensions: []string{"c"}, Stored: true, CompileTier: "compile", Version: "14.2"}})
	})
	mux.HandleFunc("PUT /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		sum := sha256.Sum256(b)
		if err != nil || hex.EncodeToString(sum[:]) != r.PathValue("digest") {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "another digest"))
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.blobs[r.PathValue("digest")] = b
		say(w, 200, struct{}{})
	})
	mux.HandleFunc("HEAD /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.blobs[r.PathValue("digest")] == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		b, is := a.blobs[r.PathValue("digest")]
		if !is {
			deny(w, 404, api.Refuse(api.CodeNoBlob, "it is not stored here"))
			return
		}
		_, _ = w.Write(b)
	})
	mux.HandleFunc("DELETE /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.blobs, r.PathValue("digest"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		var ask api.Run
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			deny(w, 400, api.Refuse(api.CodeBadRequest, "%w", err))
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		out := string(a.blobs[ask.StdinBlob])
		for _, f := range ask.Files {
			b, is := a.blobs[f.Blob]
			if !is {
				deny(w, 404, api.Refuse(api.CodeNoBlob, "blob %s is not stored here", f.Blob))
				return
			}
			out += f.Name + "=" + string(b) + ";"
		}
		res := api.Result{Verdict: api.OK, Stdout: api.Bytes(out)}
		for _, name := range ask.Collect.Globs {
			f := api.File{Name: name, Content: api.Bytes(name + " of " + strings.Join(ask.Argv, " "))}
			if ask.Collect.Blobs {
				f = a.keep(f)
			}
			res.Files = append(res.Files, f)
		}
		answerRun(w, r, res)
	})
	return mux
}

// A file that a client keeps is for its key alone: another key neither sees it nor replaces it, and what the agent no
// longer has is missing, so that the client sends it again.
func TestKeptFilesAreOfOneKey(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	agent := &blobAgent{blobs: map[string][]byte{}}
	web := serveFake(t, agent.mux(), withDialects(func(c *Config) { c.Keys = keys; c.MaxBlob = 2 * api.KiB }))

	const id = "randomid0129798"
	key := func(name string) []string { return []string{"X-API-KEY", strings.TrimPrefix(as[name][1], "Bearer ")} }
	files, runs := web.URL+"/jobe/index.php/restapi/files/", web.URL+"/jobe/index.php/restapi/runs/"
	body := func(text string) string {
		return `{"file_contents":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}`
	}
	run := `{"run_spec":{"language_id":"c","sourcecode":"x","file_list":[["` + id + `","file1"],["` + id + `","file2",true]]}}`

	evict := func() {
		agent.mu.Lock()
		defer agent.mu.Unlock()
		clear(agent.blobs)
	}
	for _, tt := range []struct {
		name              string
		before            func()
		key               string
		method, url, body string
		status            int
		says              string
	}{
		{"nothing is kept", nil, "ann", "HEAD", files + id, "", 404, ""},
		{"a run of what is not kept", nil, "ann", "POST", runs, run, 404, "One or more of the specified files"},
		{"a file", nil, "ann", "PUT", files + id, body("ann's"), 204, ""},
		{"it is kept", nil, "ann", "HEAD", files + id + "/", "", 204, ""},
		{"of another key it is not", nil, "bob", "HEAD", files + id, "", 404, ""},
		{"nor in its run", nil, "bob", "POST", runs, run, 404, "One or more of the specified files"},
		{"another key's file", nil, "bob", "PUT", files + id, body("bob's"), 204, ""},
		{"a run", nil, "ann", "POST", runs, run, 200, `"stdout":"file1=ann's;file2=ann's;"`},
		{"another key's run", nil, "bob", "POST", runs, run, 200, `"stdout":"file1=bob's;file2=bob's;"`},
		{"other content", nil, "ann", "PUT", files + id, body("new"), 204, ""},
		{"a run of it", nil, "ann", "POST", runs, run, 200, `"stdout":"file1=new;file2=new;"`},
		{"what the agent evicted", evict, "ann", "HEAD", files + id, "", 404, ""},
		{"a run of it", nil, "ann", "POST", runs, run, 404, "One or more of the specified files"},
		{"again", nil, "ann", "PUT", files + id, body("new"), 204, ""},
		{"a run after it", nil, "ann", "POST", runs, run, 200, `"stdout":"file1=new;file2=new;"`},
		{"a large file", nil, "ann", "PUT", files + id, body(strings.Repeat("x", 2<<10)), 204, ""},
		{"too large a file", nil, "ann", "PUT", files + id, body(strings.Repeat("x", 2<<10+1)), 413, "this key may keep"},
		{"no key", nil, "", "PUT", files + id, body("x"), 403, "Missing API key"},
		{"a wrong key", nil, "eve", "HEAD", files + id, "", 403, ""},
	} {
		if tt.before != nil {
			tt.before()
		}
		header := []string{"X-API-KEY", "brig_wrong"}
		switch tt.key {
		case "":
			header = nil
		case "ann", "bob":
			header = key(tt.key)
		}
		status, text, _ := ask(t, tt.method, tt.url, tt.body, header...)
		if status != tt.status || !strings.Contains(text, tt.says) || status == 204 && text != "" {
			t.Errorf("%s: %d %.300s; want %d %s", tt.name, status, text, tt.status, tt.says)
		}
	}
}

// A failure at an operation that has no outcome is a status that its clients read as one.
func TestAFailureOfAnOperationOfFiles(t *testing.T) {
	agent := http.NewServeMux()
	agent.HandleFunc("GET /v1/languages", func(w http.ResponseWriter, r *http.Request) {
		deny(w, 500, api.Fail(api.CodeInternal, "not yet"))
	})
	web := serveFake(t, agent, withDialects())
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "languages", "", 503}, {"PUT", "files/a", "{}", 503}, {"HEAD", "files/a", "", 503}, {"POST", "runs", "{}", 200},
	} {
		if status, text, _ := ask(t, tt.method, web.URL+"/jobe/restapi/"+tt.path, tt.body); status != tt.status {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, status, text)
		}
	}
}

// The files of a session are for its key alone: another key neither lists, reads, uses nor deletes them.
func TestSessionsOfLibreChatAreOfOneKey(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	agent := &blobAgent{blobs: map[string][]byte{}}
	web := serveFake(t, agent.mux(), withDialects(func(c *Config) { c.Keys = keys }))
	at := web.URL + "/librechat/v1/"
	key := func(name string) []string { return []string{"X-API-Key", strings.TrimPrefix(as[name][1], "Bearer ")} }

	form := "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"d/a.csv\"\r\n\r\n1,2\r\n--B--\r\n"
	status, text, _ := ask(t, "POST", at+"upload", form, append(key("ann"), "Content-Type", "multipart/form-data; boundary=B")...)
	var got struct {
		Session string `json:"session_id"`
		Files   []struct{ FileID, FileName string }
	}
	if err := json.Unmarshal([]byte(text), &got); status != 200 || err != nil || len(got.Files) != 1 || got.Files[0].FileName != "d/a.csv" {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	file := got.Session + "/" + got.Files[0].FileID
	object := got.Session + "/objects/" + got.Files[0].FileID
	exec := `{"lang":"c","code":"x","files":[{"id":"` + got.Files[0].FileID + `","session_id":"` + got.Session + `","name":"d/a.csv"}]}`

	for _, tt := range []struct {
		name, key, method, path, body string
		status                        int
		says                          string
	}{
		{"another key's list", "bob", "GET", "files/" + got.Session, "", 200, "[]"},
		{"another key's download", "bob", "GET", "download/" + file, "", 404, "File not found"},
		{"another key's run", "bob", "POST", "exec", exec, 200, "was not run: the file d/a.csv is not kept"},
		{"another key's lookup", "bob", "GET", "sessions/" + object, "", 404, "File not found"},
		{"another key's deletion", "bob", "DELETE", "files/" + file, "", 404, "File not found"},
		{"the list", "ann", "GET", "files/" + got.Session, "", 200, `"original-filename":"d/a.csv"`},
		{"the download", "ann", "GET", "download/" + file, "", 200, "1,2"},
		{"the lookup", "ann", "GET", "sessions/" + object + "?kind=user&id=U", "", 200, `"size":3,"lastModified":"20`},
		{"a run", "ann", "POST", "exec", exec, 200, `"stdout":"d/a.csv=1,2;"`},
		{"the deletion", "ann", "DELETE", "files/" + file, "", 200, "success"},
		{"a run after it", "ann", "POST", "exec", exec, 200, "was not run: the file d/a.csv is not kept"},
		{"a lookup after it", "ann", "GET", "sessions/" + object, "", 404, "File not found"},
		{"no key", "", "POST", "exec", exec, 401, `"error":"Unauthorized"`},
	} {
		var header []string
		if tt.key != "" {
			header = key(tt.key)
		}
		if status, text, _ := ask(t, tt.method, at+tt.path, tt.body, header...); status != tt.status || !strings.Contains(text, tt.says) {
			t.Errorf("%s: %d %.300s; want %d %s", tt.name, status, text, tt.status, tt.says)
		}
	}
}
