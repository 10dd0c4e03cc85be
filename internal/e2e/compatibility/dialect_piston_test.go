package compatibility

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// pistonAnswer is the answer of Piston's /execute.
type pistonAnswer struct {
	Compile  *pistonStage
	Run      *pistonStage
	Language string
	Version  string
	Message  string
}

type pistonStage struct {
	Signal, Message, Status *string
	Stdout, Stderr, Output  string
	Code                    *int
	Memory                  *int64
	CPUTime                 *float64 `json:"cpu_time"`
	WallTime                *float64 `json:"wall_time"`
}

// A client of Piston that is pointed at brig gets what it expects, at a prefix and at a listener of its own.
func TestPiston(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	harness.Images.Load(t, a, "cpp")
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	socket := filepath.Join(a.Dir, "piston")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "piston", "--dialect", "piston=unix:"+socket)

	own := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	t.Cleanup(own.CloseIdleConnections)
	ask := func(c *http.Client, method, url string, body, answer any) (status int) {
		t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", keys["ann"]) // as clients of the public Piston send it
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}

	type m = map[string]any
	type files = []m
	long := harness.Slow(20 * time.Second).Milliseconds()
	for _, tt := range []struct {
		name     string
		language string
		files    files
		more     m      // the other fields
		want     string // status, code and signal of the compiler, if there is one, and of the program
		out      string // is stdout of the program
		err      string // is in stderr of the program
	}{
		{"input", "python", files{{"content": "import sys\nprint(int(input()) + 1, sys.argv[1:])"}},
			m{"stdin": "65535", "args": []any{"a b", 7}, "run_timeout": long}, "null 0 null", "65536 ['a b', '7']\n", ""},
		{"no input is a newline", "py", files{{"content": "import sys\nprint(repr(sys.stdin.read()))"}}, m{"run_timeout": long},
			"null 0 null", "'\\n'\n", ""},
		{"several files", "python3", files{{"name": "d/data", "content": "6869", "encoding": "hex"},
			{"name": "prog.py", "content": "import lib.mod, sys\nsys.stderr.write('e')\nprint(open('d/data').read(), lib.mod.x, __file__[-7:])"},
			{"name": "/lib/mod.py", "content": "x = 5"}}, m{"run_timeout": long}, "null 0 null", "hi 5 prog.py\n", "e"},
		{"an exception", "python", files{{"content": "print(1)\nassert 1 == 2"}}, m{"run_timeout": long}, "RE 1 null", "1\n", "AssertionError"},
		{"by turns", "python", files{{"content": "import sys, time\nprint(1, flush=True)\ntime.sleep(1)\n" +
			"print(2, file=sys.stderr, flush=True)\ntime.sleep(1)\nprint(3)"}}, m{"run_timeout": long}, "null 0 null", "1\n3\n", "2"},
		{"its own signal", "python", files{{"content": "import os\nos.kill(os.getpid(), 11)"}}, m{"run_timeout": long},
			"SG null SIGSEGV", "", ""},
		{"a real-time signal", "python", files{{"content": "import os\nos.kill(os.getpid(), 40)"}}, m{"run_timeout": long},
			"SG null SIGRTMIN+6", "", ""},
		{"asleep", "python", files{{"content": "import time\nprint('so far', flush=True)\ntime.sleep(1000)"}},
			m{"run_timeout": harness.Slow(2 * time.Second).Milliseconds()}, "TO null SIGKILL", "so far\n", ""},
		{"busy", "python", files{{"content": "while True: pass"}}, m{"run_timeout": long, "run_cpu_time": 500}, "TO null SIGKILL", "", ""},
		{"much output", "python", files{{"content": "print('x' * (1 << 20))"}}, m{"run_timeout": long}, "OL null SIGKILL",
			strings.Repeat("x", 64<<10), ""},
		{"much memory", "python", files{{"content": "x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1"}},
			m{"run_timeout": long, "run_memory_limit": 64 << 20}, "SG null SIGKILL", "", ""},
		{"C++", "c++", files{{"name": "main.cpp", "content": "#include <iostream>\n#include \"f.h\"\nint main() { std::cout << f() << std::endl; }"},
			{"name": "f.h", "content": "int f();"}, {"content": "int f() { return 123; }"}},
			m{"run_timeout": long, "compile_timeout": long}, "null 0 null, null 0 null", "123\n", ""},
		{"C++ that aborts", "cpp", files{{"content": "#include <cassert>\nint main() { assert(1 == 2); }"}},
			m{"run_timeout": long, "compile_timeout": long}, "null 0 null, SG null SIGABRT", "", "Assertion"},
		{"C that does not compile", "c", files{{"content": "int main() { return ?; }"}}, m{"compile_timeout": long},
			"RE 1 null, RE 1 null", "", "error:"},
	} {
		body := m{"language": tt.language, "version": "*", "files": tt.files}
		for name, value := range tt.more {
			body[name] = value
		}

		var got pistonAnswer
		status := ask(http.DefaultClient, "POST", s.Url+"/piston/api/v2/execute", body, &got)
		if status != 200 || got.Run == nil {
			t.Errorf("%s: %d %+v", tt.name, status, got)
			continue
		}
		said := got.Run.said()
		if tt.name == "by turns" && got.Run.Output != "1\n2\n3\n" {
			t.Errorf("%s: the output is %q", tt.name, got.Run.Output)
		}
		if got.Compile != nil {
			said = got.Compile.said() + ", " + said
		}
		if said != tt.want || got.Run.Stdout != tt.out || !strings.Contains(got.Run.Stderr, tt.err) ||
			len(got.Run.Output) != len(got.Run.Stdout+got.Run.Stderr) || got.Run.Memory == nil || got.Run.CPUTime == nil || got.Run.WallTime == nil {
			t.Errorf("%s: %s; want %s: %.2000s", tt.name, said, tt.want, fmt.Sprintf("%+v", *got.Run))
		}
	}

	// What can run is listed, and a client that asks for the version that is listed gets it.
	var list []struct{ Language, Version string }
	if status := ask(own, "GET", "http://localhost/api/v2/runtimes", nil, &list); status != 200 || len(list) < 3 {
		t.Fatalf("%d %+v", status, list)
	}
	for _, rt := range list {
		if rt.Language != "python" {
			continue
		}
		var got pistonAnswer
		status := ask(own, "POST", "http://localhost/api/v2/execute", m{"language": rt.Language, "version": rt.Version,
			"files": files{{"content": "import sys\nprint(sys.version.split()[0])"}}, "run_timeout": long}, &got)
		series, _, _ := strings.Cut(rt.Version, ".0")
		if status != 200 || got.Version != rt.Version || !strings.HasPrefix(got.Run.Stdout, series) {
			t.Errorf("%+v: %d %+v", rt, status, got)
		}
	}

	// A language that is not stored is refused before anything runs.
	var got pistonAnswer
	swift := m{"language": "swift", "version": "*", "files": files{}}
	if status := ask(own, "POST", "http://localhost/api/v2/execute", swift, &got); status != 400 ||
		got.Message != "swift-* runtime is unknown" {
		t.Errorf("%d %+v", status, got)
	}

	var page api.Page[api.Record]
	s.WithKey(keys["ann"]).Call("GET", "/v1/history", nil, 200, &page)
	if len(page.Items) != 15 {
		t.Errorf("%d runs", len(page.Items))
	}
	for _, r := range page.Items {
		if r.Dialect != "piston" {
			t.Errorf("%+v", r)
		}
	}
}

// said is a stage as status, code and signal.
func (s *pistonStage) said() string {
	text := func(v any) string {
		b, _ := json.Marshal(v)
		return strings.Trim(string(b), `"`)
	}
	return text(s.Status) + " " + text(s.Code) + " " + text(s.Signal)
}
