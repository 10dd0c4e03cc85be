package service

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
)

// ranCommand is a result of go-judge.
type ranCommand struct {
	Status  string
	Error   string
	Files   map[string]string
	FileIDs map[string]string
}

// Files that a service makes the ids of: they are of one key, are listed, read, named in runs and deleted one by one.
func TestFilesWithIDsOfTheService(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	agent := &blobAgent{blobs: map[string][]byte{}}
	web := serveFake(t, agent.mux(), withDialects(func(c *Config) { c.Keys = keys; c.MaxBlob = 2 * api.KiB }))
	at := web.URL + "/go-judge"

	run := func(key, body string) (results []ranCommand, status int, text string) {
		t.Helper()
		status, text, _ = ask(t, "POST", at+"/run", body, as[key]...)
		if status == 200 && json.Unmarshal([]byte(text), &results) != nil {
			t.Fatalf("%s", text)
		}
		return results, status, text
	}
	list := func(key string) (names map[string]string) {
		t.Helper()
		status, text, _ := ask(t, "GET", at+"/file", "", as[key]...)
		if status != 200 || json.Unmarshal([]byte(text), &names) != nil {
			t.Fatalf("%d %s", status, text)
		}
		return names
	}

	// Two commands leave files of one name and content, which are two files.
	both := `{"cmd":[{"args":["a"],"copyOutCached":["x"]},{"args":["a"],"copyOutCached":["x","y"]}]}`
	results, status, text := run("ann", both)
	if status != 200 || len(results) != 2 || len(results[0].FileIDs) != 1 || len(results[1].FileIDs) != 2 {
		t.Fatalf("%d %s", status, text)
	}
	one, other := results[0].FileIDs["x"], results[1].FileIDs["x"]
	if one == other || len(list("ann")) != 3 || list("ann")[one] != "x" || len(list("bob")) != 0 {
		t.Errorf("%s; ann has %v, bob %v", text, list("ann"), list("bob"))
	}
	if again, _, _ := run("ann", both); slices.Contains(slices.Collect(maps.Values(list("ann"))), "") || again[0].FileIDs["x"] == one {
		t.Errorf("%v again", again)
	}

	// A file joins the command that names it, also as stdin.
	uses := `{"cmd":[{"args":["b"],"files":[{"fileId":"` + one + `"},{"name":"stdout","max":100}]},` +
		`{"args":["c"],"files":[null,{"name":"stdout","max":100}],"copyIn":{"in":{"fileId":"` + other + `"}}}]}`
	results, status, text = run("ann", uses)
	if status != 200 || results[0].Files["stdout"] != "x of a" || results[1].Files["stdout"] != "in=x of a;" {
		t.Errorf("%d %s", status, text)
	}
	if _, status, text := run("bob", uses); status != 500 || !strings.HasPrefix(text, `"file does not exists with id: `) {
		t.Errorf("another key's files: %d %s", status, text)
	}

	for _, tt := range []struct {
		name, method, path, key string
		status                  int
		says                    string
	}{
		{"the content", "GET", "/file/" + one, "ann", 200, "x of a"},
		{"the content of another key's", "GET", "/file/" + one, "bob", 404, ""},
		{"another key's is deleted", "DELETE", "/file/" + one, "bob", 404, ""},
		{"it is there", "GET", "/file/" + one, "ann", 200, "x of a"},
		{"it is deleted", "DELETE", "/file/" + one, "ann", 200, ""},
		{"again", "DELETE", "/file/" + one, "ann", 404, ""},
		{"it is gone", "GET", "/file/" + one, "ann", 404, ""},
		{"one of the same content is not", "GET", "/file/" + other, "ann", 200, "x of a"},
		{"no key", "GET", "/file/" + other, "", 401, "this service needs a key"},
		{"no key for the list", "GET", "/file", "", 401, "this service needs a key"},
		{"no key is needed", "GET", "/version", "", 200, "v1.12.2-brig"},
		{"no such path", "GET", "/stream", "ann", 404, "404 page not found"},
	} {
		status, text, header := ask(t, tt.method, at+tt.path, "", as[tt.key]...)
		if status != tt.status || !strings.Contains(text, tt.says) || tt.says == "" && text != "" {
			t.Errorf("%s: %d %s; want %d %s", tt.name, status, text, tt.status, tt.says)
		}
		if tt.says == "x of a" && (header.Get("Content-Disposition") != "attachment; filename=x" ||
			header.Get("Content-Type") != "application/octet-stream") {
			t.Errorf("%s: %v", tt.name, header)
		}
	}

	// What the agent has evicted is not there.
	agent.mu.Lock()
	clear(agent.blobs)
	agent.mu.Unlock()
	if status, text, _ := ask(t, "GET", at+"/file/"+other, "", as["ann"]...); status != 404 || text != "" {
		t.Errorf("%d %s", status, text)
	}
}

// A file that cannot be kept is a failure, and then none of the response's files is kept: nobody would know its id.
func TestAFileThatCannotBeKept(t *testing.T) {
	agent := &blobAgent{blobs: map[string][]byte{}}
	web := serveFake(t, agent.mux(), withDialects(func(c *Config) { c.MaxBlob = 16 }))
	long := strings.Repeat("n", 30)
	status, text, _ := ask(t, "POST", web.URL+"/go-judge/run", `{"cmd":[{"args":["a"],"copyOutCached":["x","`+long+`"]}]}`)
	if status != 413 || !strings.Contains(text, "this key may keep 16") {
		t.Errorf("%d %s", status, text)
	}
	if _, text, _ := ask(t, "GET", web.URL+"/go-judge/file", ""); text != "{}" {
		t.Errorf("kept are %s", text)
	}
}

// API-11: a browser sends a form for a foreign page without asking first. Its file is not kept.
func TestAFormOfAForeignPage(t *testing.T) {
	agent := &blobAgent{blobs: map[string][]byte{}}
	web := serveFake(t, agent.mux(), withDialects())
	at := web.URL + "/go-judge/file"
	form := "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n--X--\r\n"
	kind := []string{"Content-Type", "multipart/form-data; boundary=X"}

	for _, foreign := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}} {
		if status, text, _ := ask(t, "POST", at, form, append(foreign, kind...)...); status != 403 {
			t.Errorf("%v: %d %s", foreign, status, text)
		}
	}
	if _, text, _ := ask(t, "GET", at, ""); text != "{}" {
		t.Errorf("a foreign page's file is kept: %s", text)
	}

	status, text, _ := ask(t, "POST", at, form, kind...)
	var id string
	if status != 200 || json.Unmarshal([]byte(text), &id) != nil {
		t.Fatalf("%d %s", status, text)
	}
	if status, text, _ := ask(t, "GET", at+"/"+id, ""); status != 200 || text != "hello" {
		t.Errorf("%d %s", status, text)
	}

	// Only that operation takes a form.
	status, text, _ = ask(t, "POST", web.URL+"/go-judge/run", form, kind...)
	if status != 400 || !strings.Contains(text, "send application/json") {
		t.Errorf("%d %s", status, text)
	}
}
