package judge_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// drive runs CallDriver and CallLoader with the Python of this machine, and returns the exit code of the
// former, its message or stderr, and the value that it wrote.
func drive(t *testing.T, source string, r api.Run, test api.Test) (code int, message, value string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}

	dir := t.TempDir()
	input, err := judge.CallInput(r, test)
	if err != nil {
		t.Fatal(err)
	}

	for name, text := range map[string]string{judge.CalledSource: source, "input": string(input), "loader.py": string(judge.CallLoader),
		"driver.py": string(judge.CallDriver), "feedback/x": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	loader, driver := exec.Command(python, "loader.py"), exec.Command(python, "driver.py", "input", "answer", "feedback/")
	var stderr bytes.Buffer
	loader.Dir, driver.Dir, driver.Stderr = dir, dir, &stderr
	calls, answers := pipe(t), pipe(t)
	loader.Stdin, driver.Stdout, driver.Stdin, loader.Stdout = calls[0], calls[1], answers[0], answers[1]
	for _, c := range []*exec.Cmd{loader, driver} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}

	for _, f := range append(calls[:], answers[:]...) {
		f.Close()
	}

	slow := time.AfterFunc(2*time.Minute, func() { driver.Process.Kill() })
	driver.Wait()
	slow.Stop()
	loader.Process.Kill()
	loader.Wait()
	said, err := os.ReadFile(filepath.Join(dir, "feedback/judgemessage.txt"))
	if err != nil {
		said = stderr.Bytes()
	}

	text, err := os.ReadFile(filepath.Join(dir, judge.CallValue))
	if err != nil {
		text = nil
	}
	return driver.ProcessState.ExitCode(), string(said), string(text)
}

func pipe(t *testing.T) [2]*os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return [2]*os.File{r, w}
}

// What a program returns or raises is right or wrong, and never an error of the run; and no program is right
// that was not called.
func TestAssertsOfHostileFunctions(t *testing.T) {
	const accepted, wrong, failed = 42, 43, 1
	for _, tt := range []struct {
		name, source, fn, asserts string
		code                      int
		says                      string
	}{
		{"right", "def f(x): return x * x", "", "assert f(3) == 9\nassert all([f(1) == 1, abs(f(2)) == 4])", accepted, ""},
		{"a name of Python's own", "def pow(a, b): return 'wrong'", "", "assert pow(2, 10) == 1024", wrong, "line 1"},
		{"and right", "def pow(a, b): return a ** b", "", "assert pow(2, 10) == 1024", accepted, ""},
		{"and missing", "", "", "assert pow(2, 10) == 1024", wrong, "not defined"},
		{"two names of Python's own", "def pow(a, b): return 1", "", "assert abs(pow(2, 10)) == 1024", failed, "set call.fn"},
		{"of which the request names one", "def pow(a, b): return 1", "pow", "assert abs(pow(2, 10)) == 1024", wrong, "line 1"},
		{"a program with an abs of its own", "def abs(x): return 0\ndef f(x): return 7", "", "assert abs(f(1) - 1) < 0.1", wrong, "line 1"},
		{"a program with an all of its own", "def all(x): return True\ndef f(x): return 7", "", "assert all([f(1) == 1])", wrong, "line 1"},
		{"a helper of the asserts", "def f(x): return x", "", "def check(g):\n    assert g(1) == 1\ncheck(f)", accepted, ""},
		{"no call", "def f(x): return x", "", "def check(g):\n    assert g(1) == 1\n", failed, "called no function"},
		{"no call of a function that is named", "def f(x): return x", "f", "assert True", failed, "called no function"},
		{"StopIteration in map", "def f(x): raise StopIteration", "", "assert all(map(f, [1, 2]))", wrong, "RuntimeError: StopIteration"},
		{"StopIteration in a loop", "def f(x): raise StopIteration", "", "for x in map(f, [1]):\n    assert x == 2", wrong, "RuntimeError"},
		{"StopAsyncIteration", "def f(x): raise StopAsyncIteration", "", "assert all(map(f, [1, 2]))", wrong, "RuntimeError"},
		{"an exception that the asserts expect", "def f(x): raise KeyError(x)", "",
			"try:\n    f(1)\nexcept KeyError:\n    pass\nelse:\n    assert False", accepted, ""},
		{"a long number in a message", "def f(x): return 10 ** 5000", "", "assert f(1) == 1, f(1)", wrong, "line 1"},
		{"elements with one hash", "def f(x): return {i * (2 ** 61 - 1) for i in range(2000)}", "", "assert f(1) == 1", wrong, "same hash"},
		{"keys with one hash", "def f(x): return {i * (2 ** 61 - 1): 1 for i in range(2000)}", "", "assert f(1) == 1", wrong, "same hash"},
		{"a large set", "def f(x): return set(range(100000))", "", "assert f(1) == set(range(100000))", accepted, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r api.Run
			if tt.fn != "" {
				r.Call = &api.Call{Fn: tt.fn}
			}
			if code, said, _ := drive(t, tt.source, r, api.Test{Asserts: []byte(tt.asserts)}); code != tt.code || !strings.Contains(said, tt.says) {
				t.Errorf("exit code %d, %q; want %d, %q", code, said, tt.code, tt.says)
			}
		})
	}
}

func TestValuesOfHostileFunctions(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		code         int
		value, says  string
	}{
		{"a pair", "def f(): return (1, {'a': {3}})", 42, `[1, {"a": [3]}]`, ""},
		{"a long number", "def f(): return 10 ** 5000", 43, "", "ValueError"},
		{"a set of long numbers", "def f(): return {10 ** 5000, 1}", 43, "", "ValueError"},
		{"a key that is a long number", "def f(): return {10 ** 5000: 1}", 43, "", "ValueError"},
		{"keys that become longer", "def f(): return {b'\\0' * 2000000: 1}", 43, "", "bytes"},
		{"deep", "def f():\n    v = 1\n    for i in range(600): v = (v,)\n    return v", 43, "", "RecursionError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, said, value := drive(t, tt.source, api.Run{Call: &api.Call{Fn: "f"}}, api.Test{CallArgs: json.RawMessage("[]")})
			if code != tt.code || value != tt.value || !strings.Contains(said, tt.says) {
				t.Errorf("exit code %d, %.200q, value %.100q; want %d, %q", code, said, value, tt.code, tt.says)
			}
		})
	}
}

// The driver of calls meets a limit only because of the values of the program.
func TestALimitOfTheCallDriverIsWrong(t *testing.T) {
	for _, v := range api.Verdicts() {
		w, err := judge.InteractionOf(judge.ProtocolCalls).Read(judge.CheckerOutput{Verdict: v, ExitCode: 42}, "")
		limit := v == api.CPULimit || v == api.MemoryLimit
		if limit && (err != nil || w.Answer != api.WrongAnswer) || !limit && v != api.OK && v != api.Nonzero && err == nil {
			t.Errorf("%s: %+v, %v", v, w, err)
		}
	}
}
