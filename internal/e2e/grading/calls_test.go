package grading

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Tests call functions: what these return is compared outside of the program's sandbox.
func TestCalls(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	r := harness.Py("class Solution:\n    def near(self, n, t): return (n[0], t / 3, {'k': n})\ndef add(a, b=1):\n    " +
		"print('noise')\n    return a + b\n")
	r.Call = &api.Call{Fn: "near"}
	call := func(id, args, returns string) api.Test {
		return api.Test{ID: id, CallArgs: json.RawMessage(args), Returns: json.RawMessage(returns)}
	}
	r.Tests = []api.Test{
		call("same", `[[2, 7], 9]`, `[2, 3, {"k": [2, 7]}]`), call("other", `[[2, 7], 9]`, `[2, 3, {"k": [7, 2]}]`),
		call("raises", `[[], 9]`, `null`), call("any", `[[1], 9]`, `[1, 3.0, {"k": [1]}]`),
	}
	for i, want := range []string{"ok accepted", "ok wrong-answer", "ok wrong-answer", "ok accepted"} {
		one := a.MustRun(t, r).Tests[i]
		if got := fmt.Sprintf("%s %s", one.Result.Verdict, one.Answer); got != want {
			t.Errorf("%s: %s, %s %s; want %s", one.ID, got, one.Difference, one.Message, want)
		}
	}

	r.Call = nil
	r.Tests = []api.Test{
		{ID: "right", Asserts: []byte("def check(f):\n    assert f(1) == 2\n    assert f(1, b=2) == 3\n    try:\n    " +
			"    f('x')\n    except TypeError:\n        return\n    assert False\ncheck(add)\n")},
		{ID: "wrong", Asserts: []byte("assert add(1) == 2\nassert add(1) == 3, 'three'\n")},
		{ID: "large", Asserts: []byte("assert add(10**30, 0.5) == 10**30 + 0.5 and add(b'a', b'b') == b'ab' and " +
			"add((1,), (2,)) == (1, 2)\n")},
	}

	res := a.MustRun(t, r)
	for i, want := range []string{"ok accepted ", "ok wrong-answer line 2: assert add(1) == 3, 'three' three", "ok accepted "} {
		one := res.Tests[i]
		if got := fmt.Sprintf("%s %s %s", one.Result.Verdict, one.Answer, one.Message); got != want {
			t.Errorf("%s: %q; want %q", one.ID, got, want)
		}
	}

	if !strings.Contains(string(res.Tests[0].Result.Stderr), "noise") {
		t.Errorf("stderr %q", res.Tests[0].Result.Stderr)
	}

	r.Tests = []api.Test{{ID: "1", Asserts: []byte("assert (")}}
	a.Refused(t, r, api.CodeCheckFailed)
	sum := harness.Sh("true")
	sum.Tests = r.Tests
	a.Refused(t, sum, api.CodeBadRequest)
}

// GRD-08: no program passes asserts by ending the interpreter, by an object that equals everything, by changing
// modules, or by writing answers before it is asked. The control is a right program.
func TestHostileFunctions(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)

	for name, source := range map[string]string{
		"right":            "def sq(x): return x * x",
		"_exit":            "import os\ndef sq(x): os._exit(0)",
		"_exit at once":    "import os\nos._exit(0)",
		"sys.exit":         "import sys\ndef sq(x): sys.exit(0)",
		"__eq__":           "class E:\n    def __eq__(s, o): return True\ndef sq(x): return E()",
		"int with __eq__":  "class E(int):\n    def __eq__(s, o): return True\ndef sq(x): return E(3)",
		"list with __eq__": "class E(list):\n    def __eq__(s, o): return True\ndef sq(x): return E()",
		"builtins":         "import builtins\nbuiltins.AssertionError = KeyError\nbuiltins.Exception = KeyError\ndef sq(x): return 1",
		"json":             "import json\njson.dumps = lambda v: '{\"v\": true}'\ndef sq(x): return 1",
		"exception":        "class A(AssertionError): pass\ndef sq(x): raise A()",
		"SystemExit":       "def sq(x): raise SystemExit(42)",
		"kill":             "import os\nos.kill(os.getppid() or 1, 9)\nos.kill(-1, 9)\ndef sq(x): return 1",
		"garbage": "import os\ndef sq(x):\n    for fd in range(3, 20):\n        try: os.write(fd, b'[' * " +
			"1000000 + b'\\n')\n        except OSError: pass\n    os._exit(0)",
		"exit code 42": "import os\nos._exit(42)",
		"files": "import os\nfor n in ('feedback', 'judge'): os.mkdir(n)\nopen('feedback/value.json', " +
			"'w').write('9')\nopen('sitecustomize.py', 'w').write('import os; os._exit(42)')\ndef sq(x): return 1",
		"deep":    "def sq(x):\n    v = 1\n    for i in range(900): v = [v]\n    return v",
		"huge":    "def sq(x): return 'x' * 20000000",
		"endless": "def sq(x):\n    while True: pass",
	} {
		r := harness.Py(source)
		r.Limits = api.Limits{Wall: harness.Slowly(30), CPU: harness.Slowly(2)}
		if name == "endless" {
			r.Limits.CPU = harness.Slowly(0.5)
		}
		r.Tests = []api.Test{{ID: "1", Asserts: []byte("assert sq(3) == 9\nassert sq(4) == 16\n")}}
		one := a.MustRun(t, r).Tests[0]
		if accepted := one.Accepted() && one.Answer == api.Accepted; accepted != (name == "right") {
			t.Errorf("%s: %s %s %s", name, one.Result.Verdict, one.Answer, one.Message)
		}
	}
}

// A syntax error of a program whose functions are called is a compile error, at its own line.
func TestSyntaxErrorsOfFunctions(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	a.NeedPython(t)
	r := harness.Py("def sq(x):\n    return x * x\n\ndef other(:\n    pass\n")
	for name, one := range map[string]api.Test{
		"asserts": {ID: "1", Asserts: []byte("assert sq(3) == 9\n")},
		"calls":   {ID: "1", CallArgs: json.RawMessage(`[3]`), Returns: json.RawMessage(`9`)},
	} {
		r.Call, r.Tests = &api.Call{Fn: "sq"}, []api.Test{one}
		res := a.MustRun(t, r)
		if res.Verdict != api.CompileError || !strings.Contains(string(res.Stderr), "solution.py\", line 4") {
			t.Errorf("%s: %s, %s", name, res.Verdict, res.Stderr)
		}
	}

	r = harness.Py("def sq(x):\n    import nosuch\n")
	r.Tests = []api.Test{{ID: "1", Asserts: []byte("try:\n    sq(1)\nexcept ImportError:\n    pass\nimport nosuch\n")}}
	if e := a.Refused(t, r, api.CodeCheckFailed); !strings.Contains(e.Message, "the asserts import what the image does not have") {
		t.Errorf("an import of the asserts: %s", e.Message)
	}

	r.Tests = []api.Test{{ID: "1", Asserts: []byte("sq(1)\n")}}
	if one := a.MustRun(t, r).Tests[0]; one.Answer != api.WrongAnswer {
		t.Errorf("an import of the program: %s", one.Answer)
	}
}
