package compatibility

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// judgedByJudge0 is a submission as Judge0 tells it.
type judgedByJudge0 struct {
	Token         string
	Stdout        *string
	Stderr        *string
	CompileOutput *string `json:"compile_output"`
	Message       *string
	Time          *string
	Memory        *int64
	Status        struct {
		ID          int
		Description string
	}
	ExitCode   *int `json:"exit_code"`
	ExitSignal *int `json:"exit_signal"`
	Error      string
}

// A client of Judge0 that is pointed at brig gets what it expects, whether it waits or asks by its token.
func TestJudge0(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	for _, name := range []string{"bash", "cpp"} {
		harness.Images.Load(t, a, name)
	}
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "judge0")

	send := func(key, method, path string, body any) (status int, answer []byte) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, s.Url+"/judge0/"+path, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Auth-Token", keys[key])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if answer, err = io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, answer
	}

	type more = map[string]any
	text := func(s *string) string {
		if s == nil {
			return "(null)"
		}
		return *s
	}
	const crash = "int main() { return *(volatile int *)0; }"
	for _, tt := range []struct {
		name     string
		language int
		source   string
		more     more
		status   int
		out      string
		says     string // is in stderr, in what the compiler says, or in the message
	}{
		{"accepted", 71, "print(int(input()) + 1)", more{"stdin": "41", "expected_output": "42"}, 3, "42\n", ""},
		{"wrong", 71, "print(1)", more{"expected_output": "2"}, 4, "1\n", ""},
		{"not compared", 71, "print(1)", nil, 3, "1\n", ""},
		{"an exception", 71, "print(1); [][2]", more{"expected_output": "1"}, 11, "1\n", "IndexError"},
		{"arguments", 71, "import sys; print(sys.argv[1:])", more{"command_line_arguments": "a 'b c'"}, 3, "['a', 'b c']\n", ""},
		{"merged", 71, "import os\nos.write(1, b'a'); os.write(2, b'b'); os.write(1, b'c')", more{"redirect_stderr_to_stdout": true},
			3, "abc", ""},
		{"a loop", 71, "while True: pass", more{"cpu_time_limit": 0.5}, 5, "(null)", "Time limit exceeded"},
		{"sleep", 71, "import time; time.sleep(60)", more{"wall_time_limit": 1}, 5, "(null)", "(wall clock)"},
		{"memory", 71, "x = bytearray(1 << 30)", more{"memory_limit": 64000}, 12, "(null)", "Memory limit exceeded"},
		{"runs", 71, "print(1)", more{"number_of_runs": 3, "expected_output": "1"}, 3, "1\n", ""},
		{"C++", 54, "#include <iostream>\nint main() { std::cout << 7; }", more{"expected_output": "7"}, 3, "7", ""},
		{"C++ that is none", 54, "int main( {", nil, 6, "(null)", "error"},
		{"listed options", 54, "#if __cplusplus != 202002L\n#error no\n#endif\nint main() {}", more{"compiler_options": "-std=c++20"}, 3, "(null)", ""},
		{"a crash", 54, crash, nil, 7, "(null)", "Caught fatal signal 11"},
		{"abort", 54, "#include <cstdlib>\nint main() { std::abort(); }", nil, 10, "(null)", "signal 6"},
		{"a division", 54, "volatile int n, m = 100; int main() { return m / n; }", nil, 9, "(null)", "signal 8"},
		{"a large file", 50, "#include <stdio.h>\nint main(void) { FILE *f = fopen(\"x\", \"w\"); for (;;) fputs(\"hello\", f); }",
			more{"max_file_size": 64}, 8, "(null)", "signal 25"},
		{"much output", 50, "#include <stdio.h>\nint main(void) { for (;;) puts(\"x\"); }", more{"max_file_size": 1}, 8,
			strings.Repeat("x\n", 512), "Output limit exceeded"},
		{"bash", 46, "echo $0 hi", nil, 3, "script.sh hi\n", ""},
		{"plain text", 43, "hi there", nil, 3, "hi there", ""},
		{"no executable", 44, "#!/nowhere\n", nil, 11, "(null)", "cannot execute"},
	} {
		body := map[string]any{"source_code": tt.source, "language_id": tt.language}
		for name, value := range tt.more {
			body[name] = value
		}
		status, raw := send("ann", "POST", "submissions?wait=true&fields=*", body)
		var got judgedByJudge0
		said := ""
		if json.Unmarshal(raw, &got) == nil {
			said = text(got.Stderr) + text(got.CompileOutput) + text(got.Message)
		}
		if status != 201 || got.Status.ID != tt.status || text(got.Stdout) != tt.out || !strings.Contains(said, tt.says) ||
			(got.Time == nil) != (tt.status == 6) {
			t.Errorf("%s: %d %.1500s; want status %d, %q and %q", tt.name, status, raw, tt.status, tt.out, tt.says)
		}
	}

	// Options that brig does not list are for keys that may name the compiler's profile.
	free := map[string]any{"source_code": crash, "language_id": 54, "compiler_options": "-x c++"}
	if status, raw := send("ann", "POST", "submissions", free); status != 403 || !strings.Contains(string(raw), "profile compile") {
		t.Errorf("%d %s", status, raw)
	}

	// An executable that was compiled elsewhere, and content that is no text.
	program := filepath.Join(t.TempDir(), "a.out")
	if gcc, err := exec.LookPath("gcc"); err == nil {
		c := exec.Command(gcc, "-x", "c", "-static", "-o", program, "-")
		c.Stdin = strings.NewReader("#include <unistd.h>\nint main(int n, char **v) { return write(1, \"\\377\\n\", 2) != 2 || n != 2; }")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		content, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		body := map[string]any{"source_code": base64.StdEncoding.EncodeToString(content), "language_id": 44, "command_line_arguments": "x",
			"expected_output": "/w=="}
		status, raw := send("ann", "POST", "submissions?wait=true&base64_encoded=true", body)
		var got judgedByJudge0
		if err := json.Unmarshal(raw, &got); err != nil || status != 201 || got.Status.ID != 3 || text(got.Stdout) != "/wo=\n" {
			t.Errorf("%d %.500s", status, raw)
		}
		status, raw = send("ann", "GET", "submissions/"+got.Token, nil)
		if status != 400 || !strings.Contains(string(raw), "base64_encoded=true") {
			t.Errorf("%d %s", status, raw)
		}
	}

	// A batch, whose submissions are asked for until they have ended.
	var all []map[string]any
	for i := range 20 {
		all = append(all, map[string]any{"source_code": "print(input())", "language_id": 71, "stdin": string(rune('a' + i)),
			"expected_output": string(rune('a' + i))})
	}
	status, raw := send("ann", "POST", "submissions/batch", map[string]any{"submissions": all})
	var taken []judgedByJudge0
	if err := json.Unmarshal(raw, &taken); err != nil || status != 201 || len(taken) != 20 {
		t.Fatalf("%d %s", status, raw)
	}
	tokens := make([]string, len(taken))
	for i, one := range taken {
		tokens[i] = one.Token
	}

	var states struct{ Submissions []*judgedByJudge0 }
	for ended := 0; ended < 20 && t.Context().Err() == nil; time.Sleep(50 * time.Millisecond) {
		status, raw := send("ann", "GET", "submissions/batch?tokens="+strings.Join(tokens, ","), nil)
		if err := json.Unmarshal(raw, &states); err != nil || status != 200 || len(states.Submissions) != 20 {
			t.Fatalf("%d %s", status, raw)
		}
		ended = 0
		for _, one := range states.Submissions {
			if one.Status.ID > 2 {
				ended++
			}
		}
	}
	for i, one := range states.Submissions {
		if one.Status.ID != 3 || text(one.Stdout) != string(rune('a'+i))+"\n" {
			t.Errorf("%d: %+v", i, one)
		}
	}
	if status, raw := send("bob", "GET", "submissions/"+tokens[0], nil); status != 404 {
		t.Errorf("another key gets %d %s", status, raw)
	}

	var page api.Page[api.Record]
	s.WithKey(keys["ann"]).Call("GET", "/v1/history", nil, 200, &page)
	if len(page.Items) == 0 {
		t.Error("the history has no runs")
	}
	for _, r := range page.Items {
		if r.Dialect != "judge0" {
			t.Errorf("%+v", r)
		}
	}
}
