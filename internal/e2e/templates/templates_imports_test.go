package templates

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The templates of python-full have imported numpy and pandas where the source does. What numpy drew
// from randomness is drawn again.
func TestTemplatesWithImports(t *testing.T) {
	if !harness.Chosen("python-full", harness.LanguageTests["python-full"].OnlyAll) {
		t.Skip("only make test-languages runs python-full")
	}

	a := harness.StartAgent(t)
	harness.Images.Load(t, a, "python-full")

	for _, source := range []string{
		"import numpy\nprint(numpy.random.rand(3), numpy.random.default_rng().random())",
		"import pandas as pd, numpy as np\nprint(pd.DataFrame({'a': np.random.rand(3)}))",
		"from numpy import random\nprint(random.randint(1 << 60))",
	} {
		r := api.Run{Language: "python-full", Source: api.Bytes(source)}
		first, second := a.MustRun(t, r), a.MustRun(t, r)
		r.NoTemplate = true
		cold := a.MustRun(t, r)
		if first.Verdict != api.OK || cold.Verdict != api.OK || !first.Host.Template || !second.Host.Template {
			t.Fatalf("%s: %s, %+v: %s", source, first.Verdict, first.Host, first.Stderr)
		}
		if string(first.Stdout) == string(second.Stdout) {
			t.Errorf("%s: two runs print %s", source, first.Stdout)
		}
		t.Logf("%q: processor time %d from a template, %d with the ordinary start", source, *first.Usage.CPU.Value, *cold.Usage.CPU.Value)
	}

	for _, source := range endsWithImports {
		r := api.Run{Language: "python-full", Source: api.Bytes(source)}
		warm := a.MustRun(t, r)
		r.NoTemplate = true
		cold := a.MustRun(t, r)
		if w, c := seenOf(warm), seenOf(cold); w != c || !warm.Host.Template || cold.Host.Template {
			t.Errorf("from a template:\n%s\nwith the ordinary start:\n%s", w, c)
		}
	}

	own := api.Run{Language: "python-full", Source: api.Bytes("import numpy\nprint(numpy.x)"),
		Files: []api.File{{Name: "numpy.py", Content: api.Bytes("x = 'own'\n")}}}
	if res := a.MustRun(t, own); string(res.Stdout) != "own\n" || !res.Host.Template {
		t.Errorf("a module of the caller's: %+v: %s%s", res.Host, res.Stdout, res.Stderr)
	}
}

// endsWithImports are programs that see the end of an interpreter with modules of the template.
var endsWithImports = []string{
	`import atexit, ctypes, datetime, hashlib, numpy, sys, threading, weakref
class Last:
    def __init__(self, name, *more): self.name, self.more = name, more
    def __del__(self): print("end of", self.name, len(self.more), numpy is not None, sys.is_finalizing())
here = Last("global", numpy.arange(3), datetime.datetime(2000, 1, 1))
cycle = Last("cycle"); cycle.own = cycle; del cycle
local = threading.local(); local.x = Last("thread-local")
weakref.finalize(here, print, "finalizer")
atexit.register(lambda: print("atexit", hashlib.sha256(b"a").hexdigest()[:8], numpy.ones(2).sum()))
libc = ctypes.CDLL(None); libc.puts(b"by the C library"); print("no newline", end="")
sys.exit(3)`,
	`import numpy, ssl, hashlib, _thread
c = ssl.create_default_context(); print(c.verify_mode, ssl.RAND_status(), len(ssl.RAND_bytes(4)), hashlib.new("sha3_256", b"x").hexdigest())
numpy.linalg.solve(numpy.eye(3), numpy.ones(3)); raise ValueError(numpy.float64(1.5))`,
	`import pandas as pd, numpy as np
out = open("out.txt", "w"); out.write("x")
pd.DataFrame.foo = lambda self: out
pd.options.display.float_format = lambda x: "%.1f" % x
np.seterrcall(lambda *a: out)
np.set_printoptions(formatter={"int": lambda x: "i%d" % x})
print(pd.DataFrame({"a": [1.25]}), np.arange(2))`,
	`import pandas as pd, numpy as np, os
frame = pd.DataFrame({"a": [1, 2, 3], "when": pd.date_range("2020-01-01", periods=3)})
print(frame.groupby("a").when.max(), frame.dtypes, np.arange(6).reshape(2, 3) @ np.ones(3))
if os.fork() == 0: print("child", frame.a.sum()); raise SystemExit
print("parent", os.wait()[1])`,
}

// A program that imports one of the usual modules begins from a template that has all of them, unless one
// of its files could be meant. Every other program sees none of them.
func TestTemplatesWithUsualModules(t *testing.T) {
	a := harness.StartAgent(t)
	harness.Images.Load(t, a, "python")
	const has = "\nimport sys; print('dataclasses' in sys.modules, 'random' in sys.modules)"
	own := []api.File{{Name: "lib/random.py", Content: api.Bytes("x = 'own'\n")}}
	for _, tt := range []struct {
		name, source string
		files        []api.File
		cold         bool
		want         string
	}{
		{name: "one of them", source: "from collections import deque" + has, want: "True True\n"},
		{name: "the last one of a line", source: "import os as o, heapq" + has, want: "True True\n"},
		{name: "with the ordinary start", source: "from collections import deque" + has, cold: true, want: "False False\n"},
		{name: "none of them", source: "import os, math" + has, want: "False False\n"},
		{name: "a module of the caller's", source: "import sys; sys.path.insert(0, 'lib'); import random; print(random.x)", files: own,
			cold: true, want: "own\n"},
	} {
		res := a.MustRun(t, api.Run{Language: "python", Source: api.Bytes(tt.source), Files: tt.files, NoTemplate: tt.cold && tt.files == nil})
		if string(res.Stdout) != tt.want || res.Host.Template == tt.cold {
			t.Errorf("%s: %q, %+v; want %q: %s", tt.name, res.Stdout, res.Host, tt.want, res.Stderr)
		}
	}
}

// Programs in python-full whose functions are called may use numpy, and so may the asserts: its arrays and numbers
// cross as such.
func TestFunctionsWithNumpy(t *testing.T) {
	if !harness.Chosen("python-full", harness.LanguageTests["python-full"].OnlyAll) {
		t.Skip("only make test-languages runs python-full")
	}

	a := harness.StartAgent(t)
	harness.Images.Load(t, a, "python-full")
	r := api.Run{Language: "python-full", Source: api.Bytes(`import numpy as np
def norm(v): return np.linalg.norm(np.asarray(v))
def scale(a, k): return a * k
def above(a, k): return np.asarray(a) > k
`)}

	r.Tests = []api.Test{{ID: "1", Asserts: []byte(`import numpy as np
assert norm([3, 4]) == 5.0 and np.isclose(norm([1, 1]), 2 ** 0.5)
twice = scale(np.array([[1.5, 2], [3, 4]]), 2)
assert twice.shape == (2, 2) and twice.dtype == np.float64 and (twice == [[3, 4], [6, 8]]).all()
assert above([1, 2, 3], 2).tolist() == [False, False, True] and above(3, 2)
twice += 1
`)}, {ID: "2", Asserts: []byte("import numpy as np\nassert np.allclose(scale(np.arange(3), 2), [0, 2, 5])\n")}}

	for i, want := range []api.Answer{api.Accepted, api.WrongAnswer} {
		if one := a.MustRun(t, r).Tests[i]; one.Answer != want {
			t.Errorf("asserts %s: %s %s %s", one.ID, one.Result.Verdict, one.Answer, one.Message)
		}
	}

	r.Call, r.Tests = &api.Call{Fn: "above"},
		[]api.Test{{ID: "1", CallArgs: []byte(`[[1, 2, 3], 2]`), Returns: []byte(`[false, false, true]`)}}
	if one := a.MustRun(t, r).Tests[0]; one.Answer != api.Accepted {
		t.Errorf("a call: %s %s %s", one.Result.Verdict, one.Answer, one.Difference)
	}
}
