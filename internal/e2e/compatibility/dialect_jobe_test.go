package compatibility

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// ranJobe is the answer of Jobe's /runs.
type ranJobe struct {
	Outcome int
	Compile string `json:"cmpinfo"`
	Stdout  string
	Stderr  string
}

// A client of Jobe that is pointed at brig gets what it expects.
func TestJobe(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	harness.Images.Load(t, a, "cpp")
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "jobe")

	send := func(method, path string, body any) (status int, answer []byte) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, s.Url+"/jobe/index.php/restapi/"+path, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Content-Type", "application/json; charset=utf-8")
		req.Header.Set("X-API-KEY", keys["ann"])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err = io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, answer
	}

	type list = []string
	for _, tt := range []struct {
		name       string
		language   string
		source     string
		parameters map[string]any
		outcome    int
		out        string // the whole of stdout
		err        string // is in stderr, or in what the compiler says
	}{
		{"right", "python3", "print(int(input()) + 1)", nil, 15, "65536\n", ""},
		{"an exit code alone", "python3", "print(1); exit(3)", nil, 15, "1\n", ""},
		{"an exception", "python3", "print(1)\n[][2]", nil, 12, "1\n", "IndexError"},
		{"a syntax error", "python3", "print(1)\nint a = 1", nil, 11, "", "SyntaxError"},
		{"arguments", "python3", "import sys; print(sys.argv[1:])", map[string]any{"runargs": list{"a", "'b c'"}}, 15, "['a', 'b c']\n", ""},
		{"arguments of the interpreter", "python3", "", map[string]any{"interpreterargs": list{`-c "print(\"Blah\")"`}}, 15, "Blah\n", ""},
		{"too much memory", "python3", "x = bytearray(1 << 31)", nil, 12, "", "MemoryError"},
		{"a loop", "c", "int main(void) { for (;;); }", map[string]any{"cputime": 1}, 13, "", ""},
		{"a warning", "c", "int main(void) { int i; return 0; }", nil, 11, "", "unused variable"},
		{"C99 alone", "c", "int main(void) { asm(\"\"); return 0; }", nil, 11, "", "asm"},
		{"flags", "c", "#include <math.h>\n#include <stdio.h>\nint main() { printf(\"%.0f\\n\", sqrt(A)); }",
			map[string]any{"compileargs": list{"-std=c89 -D'A=16.0'"}, "linkargs": list{"-lm"}}, 15, "4\n", ""},
		{"a mapping beyond the limit", "c", "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(malloc(2000000000) ? \"Oh dear\" : \"worked\"); }",
			nil, 15, "worked\n", ""},
		{"a signal that is not told", "c", "int main(void) { return *(volatile int *)0; }", nil, 12, "", ""},
		{"a signal that is", "c", "#include <stdlib.h>\nint main(void) { abort(); }", nil, 12, "", "signal 6"},
		{"much output", "c", "#include <stdio.h>\nint main(void) { for (;;) puts(\"Hello\"); }", nil, 13, "", ""},
		{"bytes", "c", "#include <stdio.h>\nint main(void) { puts(\"\\01\\300\"); }", nil, 15, "\\x01\\xc0\n", ""},
	} {
		spec := map[string]any{"language_id": tt.language, "sourcecode": tt.source, "input": "65535\n",
			"sourcefilename": "__tester__." + tt.language}
		if tt.parameters != nil {
			spec["parameters"] = tt.parameters
		}
		status, text := send("POST", "runs", map[string]any{"run_spec": spec})
		var got ranJobe
		if status != 200 || json.Unmarshal(text, &got) != nil || got.Outcome != tt.outcome ||
			!strings.Contains(got.Stderr+got.Compile, tt.err) || tt.err == "" && got.Stderr+got.Compile != "" ||
			got.Stdout != tt.out && !(tt.name == "much output" && len(got.Stdout) == 2000*1024) {
			t.Errorf("%s: %d %.1000s; want outcome %d", tt.name, status, text, tt.outcome)
		}
	}

	// Flags that brig does not list are for keys that may name the compiler's profile.
	if status, text := send("POST", "runs", map[string]any{"run_spec": map[string]any{"language_id": "c", "sourcecode": "int main() {}",
		"parameters": map[string]any{"compileargs": list{"-x c"}}}}); status != 403 || !strings.Contains(string(text), "profile compile") {
		t.Errorf("%d %s", status, text)
	}

	// As CodeRunner sends files: when a run says that it lacks them.
	content := "The first file\n"
	sum := md5.Sum([]byte(content))
	id := hex.EncodeToString(sum[:])
	run := map[string]any{"run_spec": map[string]any{"language_id": "python3", "sourcecode": "print(open('file1').read())",
		"file_list": [][]string{{id, "file1"}}}}
	if status, text := send("POST", "runs", run); status != 404 || !strings.Contains(string(text), "missing/unavailable") {
		t.Errorf("%d %s", status, text)
	}
	put := map[string]string{"file_contents": base64.StdEncoding.EncodeToString([]byte(content))}
	if status, text := send("PUT", "files/"+id, put); status != 204 {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := send("HEAD", "files/"+id, nil); status != 204 {
		t.Errorf("%d", status)
	}
	told := `"outcome":15,"cmpinfo":"","stdout":"The first file\n\n"`
	if status, text := send("POST", "runs", run); status != 200 || !strings.Contains(string(text), told) {
		t.Errorf("%d %s", status, text)
	}

	var page api.Page[api.Record]
	s.WithKey(keys["ann"]).Call("GET", "/v1/history", nil, 200, &page)
	if len(page.Items) == 0 {
		t.Error("the history has no runs")
	}
	for _, r := range page.Items {
		if r.Dialect != "jobe" {
			t.Errorf("%+v", r)
		}
	}
}
