package compatibility

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// ranCode is the answer of SandboxFusion's /run_code.
type ranCode struct {
	Status  string
	Message string
	Compile *ranCommand `json:"compile_result"`
	Run     *ranCommand `json:"run_result"`
	Files   map[string]string
}

type ranCommand struct {
	Status string
	Time   *float64 `json:"execution_time"`
	Code   *int     `json:"return_code"`
	Stdout *string
	Stderr *string
}

// A client of SandboxFusion that is pointed at brig gets what it expects, at a prefix and at a listener of its own.
func TestSandboxFusion(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	harness.Images.Load(t, a, "cpp")
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	socket := filepath.Join(a.Dir, "sandboxfusion")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "sandboxfusion", "--dialect", "sandboxfusion=unix:"+socket)

	own := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	t.Cleanup(own.CloseIdleConnections)
	ask := func(c *http.Client, url string, body map[string]any) (status int, answer ranCode) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/run_code", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+keys["ann"])
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, answer
	}

	long := harness.Slow(20 * time.Second).Seconds()
	for _, tt := range []struct {
		name string
		body map[string]any
		want string // status, then return codes (or TimeLimitExceeded, or null) of the compiler and of the program
		out  string // is in stdout of the program
		err  string // is in stderr of the stage that was last
	}{
		{"right", map[string]any{"language": "python", "code": "print(int(input()) + 1)", "stdin": "65535", "memory_limit_MB": 1024},
			"Success null 0", "65536\n", ""},
		{"an exception", map[string]any{"language": "python", "code": "print(1)\nassert 1 == 2"}, "Failed null 1", "1\n", "AssertionError"},
		{"a syntax error", map[string]any{"language": "python", "code": "int a = 1"}, "Failed null 1", "", "SyntaxError: invalid syntax"},
		{"asleep", map[string]any{"language": "python", "code": "import time\nprint('so far', flush=True)\ntime.sleep(1000)",
			"run_timeout": harness.Slow(2 * time.Second).Seconds()}, "Failed null TimeLimitExceeded", "so far\n", ""},
		{"asleep for longer than a short limit", map[string]any{"language": "python", "code": "import time; time.sleep(0.2)", "run_timeout": 0.1},
			"Failed null TimeLimitExceeded", "", ""},
		{"its own signal", map[string]any{"language": "python", "code": "import os\nos.kill(os.getpid(), 9)"}, "Failed null -9", "", ""},
		{"much memory", map[string]any{"language": "python", "code": "x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1",
			"memory_limit_MB": 64}, "Failed null -9", "", ""},
		{"a fork", map[string]any{"language": "python", "code": "import subprocess\nprint(subprocess.run(['echo', 'child'], " +
			"capture_output=True, text=True).stdout)"}, "Success null 0", "child\n", ""},
		{"more output than is kept", map[string]any{"language": "python", "code": "print('x' * (2 << 20))"}, "Success null 0", "xxx", ""},
		{"C++", map[string]any{"language": "cpp", "code": "#include <iostream>\nint main() { std::cout << 123 << std::endl; }",
			"compile_timeout": long, "run_timeout": long}, "Success 0 0", "123\n", ""},
		{"C++ that asserts", map[string]any{"language": "cpp", "code": "#include <cassert>\nint main() { assert(1 == 2); }",
			"compile_timeout": long}, "Failed 0 -6", "", "Assertion"},
		{"C++ that does not compile", map[string]any{"language": "cpp", "code": "int main() { object i = ?; }",
			"compile_timeout": long}, "Failed 1 null", "", "error:"},
		{"C++ that is never compiled", map[string]any{"language": "cpp", "compile_timeout": 0.5,
			"code": "#include <bits/stdc++.h>\ntemplate<int a, int b> struct F { static const long v = F<a, b - 1>::v + F<a - 1, b>::v; };\n" +
				"template<int a> struct F<a, 0> { static const long v = 1; };\ntemplate<int b> struct F<0, b> { static const long v = 1; };\n" +
				"int main() { return F<400, 400>::v; }"}, "Failed TimeLimitExceeded null", "", ""},
	} {
		status, got := ask(http.DefaultClient, s.Url+"/sandboxfusion", tt.body)
		out, last := "", got.Compile
		if got.Run != nil {
			out, last = *got.Run.Stdout, got.Run
		}
		if said := got.Status + " " + got.Compile.said() + " " + got.Run.said(); status != 200 || said != tt.want ||
			!strings.Contains(out, tt.out) || len(out) > 1<<20 || last == nil || !strings.Contains(*last.Stderr, tt.err) {
			t.Errorf("%s: %d, %s; want %s: %+v, stdout %.200q", tt.name, status, said, tt.want, got, out)
		}
	}

	// Files go in and come back, also those of a program that failed.
	status, got := ask(own, "http://localhost", map[string]any{"language": "python",
		"code":        "import os\nprint(open('d/in').read())\nopen('d/[o]*', 'wb').write(b'\\xff')\nopen('more', 'w').write('x')\nos._exit(7)",
		"files":       map[string]any{"d/in": base64.StdEncoding.EncodeToString([]byte("hello")), "none": nil},
		"fetch_files": []string{"./d/[o]*", "gone"}, "run_timeout": long})
	if status != 200 || got.Status != "Failed" || len(got.Files) != 1 || got.Files["./d/[o]*"] != "/w==" {
		t.Errorf("%d %+v", status, got)
	}

	// A language that is not stored is refused before anything runs.
	if status, got := ask(own, "http://localhost", map[string]any{"language": "swift", "code": ""}); status != 422 {
		t.Errorf("%d %+v", status, got)
	}

	var page api.Page[api.Record]
	s.WithKey(keys["ann"]).Call("GET", "/v1/history", nil, 200, &page)
	if len(page.Items) != 14 {
		t.Errorf("%d runs", len(page.Items))
	}
	for _, r := range page.Items {
		if r.Dialect != "sandboxfusion" {
			t.Errorf("%+v", r)
		}
	}
}

func (c *ranCommand) said() string {
	switch {
	case c == nil:
		return "null"
	case c.Code == nil:
		return c.Status
	}
	text, _ := json.Marshal(c.Code)
	return string(text)
}
