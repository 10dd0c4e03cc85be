package compatibility

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Commands of go-judge's clients are connected by pipes, and read files of the host, as a judge of Hydro asks for it.
func TestGoJudgePipesAndHostFiles(t *testing.T) {
	src := filepath.Join(harness.PublicDir(t, "brig-src"), "src")
	if err := os.MkdirAll(src, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(src, "1.in"), []byte("42\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	a := harness.StartAgent(t, harness.SharedFlags...)
	harness.Images.Load(t, a, "go-judge")
	s := harness.StartService(t, a, "--dialect", "go-judge", "--go-judge-src", src)

	type fields = map[string]any
	type list = []any
	collect := fields{"name": "stderr", "max": 10240}
	python := func(script string, stdin, stdout any, more fields) fields {
		c := fields{"args": list{"/usr/bin/python3", "-c", script}, "env": list{"PATH=/usr/bin:/bin", "WHO=somebody"},
			"files": list{stdin, stdout, collect}, "cpuLimit": 10e9, "clockLimit": 30e9, "memoryLimit": 256 << 20, "procLimit": 50}
		for name, v := range more {
			c[name] = v
		}
		return c
	}
	run := func(pipes list, commands ...fields) (results []ranGoJudge) {
		t.Helper()
		text, err := json.Marshal(fields{"cmd": commands, "pipeMapping": pipes})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.Url+"/go-judge/run", bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || json.Unmarshal(answer, &results) != nil || len(results) != len(commands) {
			t.Fatalf("%d %.1000s, %v", res.StatusCode, answer, err)
		}
		return results
	}
	pipe := func(from, to int) fields {
		return fields{"in": fields{"index": from, "fd": 1}, "out": fields{"index": to, "fd": 0}, "proxy": true, "name": "p", "max": 1 << 20}
	}
	talk := list{pipe(0, 1), pipe(1, 0)}

	// The second has the input and says what it found; each is told, with its own files.
	interactor := `
import os, sys
n = int(open('in').read())
low = 0
while True:
    line = sys.stdin.readline()
    if not line: break
    guess = int(line); low += 1
    print('=' if guess == n else '<' if guess < n else '>', flush=True)
open('tout', 'w').write(str(low)); open('state.txt', 'w').write('next')
sys.stderr.write('ok ' + os.environ['WHO'] + ' ' + 'x' * 5000)
sys.exit(1)`
	player := `
low, high = 0, 100
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    answer = input()
    if answer == '=': break
    if answer == '<': low = middle + 1
    else: high = middle - 1
import sys; sys.stderr.write('found'); open('left', 'w').write('x')`
	got := run(talk, python(player, nil, nil, fields{"copyOut": list{"left"}}),
		python(interactor, nil, nil, fields{"copyIn": fields{"in": fields{"src": src + "/1.in"}}, "copyOut": list{"/w/tout?", "none?"},
			"copyOutCached": list{"state.txt?"}}))
	if got[0].Status != "Accepted" || got[0].Files["stderr"] != "found" || got[0].Files["left"] != "x" ||
		got[1].Status != "Nonzero Exit Status" || got[1].ExitStatus != 1 || got[1].Files["/w/tout"] == "" || got[1].FileIDs["state.txt"] == "" ||
		!strings.HasPrefix(got[1].Files["stderr"], "ok somebody x") || len(got[1].Files["stderr"]) != len("ok somebody ")+5000 ||
		got[0].Time <= 0 || got[1].Time <= 0 || got[0].Memory <= 0 || got[1].Memory <= 0 {
		t.Errorf("%+v", got)
	}

	// However one of the two ends, the other is told by its own end.
	for _, tt := range []struct {
		name          string
		first, second string
		want          [2]string
	}{
		{"the first loops", "while True: pass", "import sys; sys.exit(len(sys.stdin.read()))", [2]string{"Time Limit Exceeded", "Accepted"}},
		{"the second loops", "import sys; sys.stdin.read()", "while True: pass", [2]string{"Accepted", "Time Limit Exceeded"}},
		{"the first is killed", "import os; os.kill(os.getpid(), 11)", "import sys; sys.stdin.read(); sys.exit(3)",
			[2]string{"Signalled", "Nonzero Exit Status"}},
		{"the second is killed", "import sys; sys.stdin.read(); print(1)", "import os; os.kill(os.getpid(), 11)",
			[2]string{"Accepted", "Signalled"}},
		{"the second uses all memory", "import sys; sys.stdin.read()", "bytearray(1 << 30)", [2]string{"Accepted", "Memory Limit Exceeded"}},
		{"nobody reads", "print('x' * 500000)", "pass", [2]string{"Accepted", "Accepted"}},
	} {
		limits := fields{}
		if strings.Contains(tt.name, "loops") {
			limits["cpuLimit"] = 5e8
		}
		got := run(talk, python(tt.first, nil, nil, limits), python(tt.second, nil, nil, limits))
		if got[0].Status != tt.want[0] || got[1].Status != tt.want[1] {
			t.Errorf("%s: %+v; want %q", tt.name, got, tt.want)
		}
	}

	// A command that reads what another one wrote, with the input of the host.
	stdout := fields{"name": "stdout", "max": 99}
	got = run(list{pipe(1, 0)}, python("print(len(input()))", nil, stdout, nil),
		python("print(input() * 100000)", fields{"src": src + "/1.in"}, nil, nil))
	if got[0].Files["stdout"] != "200000\n" || got[1].Status != "Accepted" {
		t.Errorf("%+v", got)
	}
}
