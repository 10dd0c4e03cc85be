package grading

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/judge/suite"
)

// runSuite executes a suite and reads its report.
func runSuite(t *testing.T, a *harness.Agent, r api.Run) api.Result {
	t.Helper()
	run, err := suite.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	return suite.Read(*r.Suite, a.MustRun(t, run))
}

// unittestRun is a program with two cases for it.
func unittestRun(program string) api.Run {
	r := harness.Py(program)
	r.SourceName, r.Suite = "solution.py", &api.Suite{Report: api.ReportUnittest}
	r.Files = []api.File{{Name: "test_sq.py", Content: api.Bytes(`import unittest
from solution import sq

class Squares(unittest.TestCase):
    def test_small(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertEqual(sq(i), i * i)

    def test_large(self):
        self.assertEqual(sq(10**6), 10**12, "a million")
`)}}

	return r
}

// cases are the answers of a result's tests.
func cases(res api.Result) string {
	var all []string
	for _, one := range res.Tests {
		all = append(all, one.ID+"="+string(one.Answer))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Unit tests of Python and of Node run in one sandbox with the program, and each case is a test of the result.
func TestSuites(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	harness.Images.Load(t, a, "node")

	for program, want := range map[string]string{
		"def sq(x): return x * x":               "1 test_sq.Squares.test_large=accepted test_sq.Squares.test_small=accepted",
		"def sq(x): return x * x if x < 9 else": "0 unittest.loader._FailedTest.test_sq=wrong-answer",
		"def sq(x): return x + x":               "0 test_sq.Squares.test_large=wrong-answer test_sq.Squares.test_small=wrong-answer",
		"def sq(x): return min(x * x, 9)":       "0.5 test_sq.Squares.test_large=wrong-answer test_sq.Squares.test_small=accepted",
	} {
		res := runSuite(t, a, unittestRun(program))
		if got := fmt.Sprintf("%v %s", api.JobScore(res), cases(res)); got != want {
			t.Errorf("%q: %s; want %s; %s", program, got, want, res.Stderr)
		}
		for _, one := range res.Tests {
			if !one.AnswerVisible || (one.Answer == api.WrongAnswer) != (one.Message != "") {
				t.Errorf("%q: %+v", program, one)
			}
		}
	}

	node := api.Run{Language: "javascript", Source: api.Bytes("exports.sq = x => x * x"), SourceName: "solution.js",
		Suite: &api.Suite{Report: api.ReportJUnit}}
	node.Files = []api.File{{Name: "sq.test.js", Content: api.Bytes(`const { test, describe } = require('node:test')
const assert = require('node:assert')
const { sq } = require('./solution.js')
test('small', () => assert.strictEqual(sq(2), 4))
describe('more', () => { test('wrong', () => assert.strictEqual(sq(3), 8)) })
`)}}

	res := runSuite(t, a, node)
	if got := fmt.Sprintf("%v %s", api.JobScore(res), cases(res)); got != "0.5 more.wrong=wrong-answer small=accepted" {
		t.Errorf("node: %s; %s %s %s", got, res.Verdict, res.Stdout, res.Stderr)
	}

	a.Refused(t, node, api.CodeBadRequest) // by an agent, which reads no reports
}

// GRD-15: a program that ends the cases, skips them, fills the report or never ends gets no score. One that
// forges the report does, which is why the results say that the answer was visible.
func TestHostileSuites(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	const report = `{"cases": [{"id": "test_sq.Squares.test_small", "status": "passed"}, {"id": "test_sq.Squares.test_large", "status": "passed"}]}`
	for name, tt := range map[string]struct {
		program string
		score   float64
	}{
		"right":            {"def sq(x): return x * x", 1},
		"_exit at once":    {"import os\nos._exit(0)", 0},
		"_exit in a case":  {"import os\ndef sq(x): os._exit(0)", 0},
		"sys.exit":         {"import sys\ndef sq(x): sys.exit(0)", 0},
		"SystemExit":       {"raise SystemExit(0)", 0},
		"skips":            {"import unittest\ndef sq(x): raise unittest.SkipTest('no')", 0},
		"skips the module": {"import unittest\nraise unittest.SkipTest('no')", 0},
		"kills":            {"import os, signal\ndef sq(x): os.kill(os.getpid(), signal.SIGKILL)", 0},
		"never ends":       {"def sq(x):\n    while True: pass", 0},
		"a huge report":    {"import os\nopen('brig-report.json', 'wb').truncate(1 << 30)\nos._exit(0)", 0},
		"a full report":    {"import os\nopen('brig-report.json', 'wb').write(b'[' * (9 << 20))\nos._exit(0)", 0},
		"a link":           {"import os\nos.symlink('/etc/passwd', 'brig-report.json')\nos._exit(0)", 0},
		"a pipe":           {"import os\nos.mkfifo('brig-report.json')\nos._exit(0)", 0},
		"a directory":      {"import os\nos.mkdir('brig-report.json')\nos._exit(0)", 0},
		"many cases": {"import os, json\njson.dump({'cases': [{'id': str(i), 'status': 'passed'} for i in " +
			"range(20000)]}, open('brig-report.json', 'w'))\nos._exit(0)", 0},
		"a report, exit 1": {"import os\nopen('brig-report.json', 'w').write('" + report + "')\nos._exit(1)", 0},
		"a forged report":  {"import os\nopen('brig-report.json', 'w').write('" + report + "')\nos._exit(0)", 1},
		"a report of fewer": {"import os\nopen('brig-report.json', 'w').write('{\"cases\": [{\"id\": \"x\", " +
			"\"status\": \"passed\"}]}')\nos._exit(0)", 0.5},
	} {
		r := unittestRun(tt.program)
		r.Suite.Cases = 2
		r.Limits = api.Limits{Wall: harness.Slowly(30), CPU: harness.Slowly(3)}
		if name == "never ends" {
			r.Limits.CPU = harness.Slowly(1)
		}
		res := runSuite(t, a, r)
		if got := api.JobScore(res); got != tt.score {
			t.Errorf("%s: score %v; want %v: %s %s", name, got, tt.score, cases(res), res.Stderr)
		}
		for _, one := range res.Tests {
			if !one.AnswerVisible {
				t.Errorf("%s: %s is taken for sure", name, one.ID)
			}
		}
	}
}

// brig grade judges a class by unit tests: the cases that count are those that the teacher's solution passes.
func TestGradeBySuite(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	dir := t.TempDir()
	r := unittestRun("")
	for name, text := range map[string]string{
		"tests/test_sq.py": string(r.Files[0].Content), "teacher.py": "def sq(x): return x ** 2", "broken.py": "def sq(x): return 1",
		"class/ann.py": "def sq(x): return x * x", "class/bob.py": "def sq(x): return 9", "class/cy.py": "import os; os._exit(0)",
		"class/dan/solution.py": "from helper import sq", "class/dan/helper.py": "def sq(x): return x * x",
		"class/dan/conftest.py": "import os; os._exit(0)",
		"class/eve.py": `import os
open('brig-report.json', 'w').write('{"cases": [{"id": "x", "status": "passed"}]}')
os._exit(0)`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	gradeSuite := func(solution string) (string, error) {
		c := exec.Command(harness.Binary(t, "brig"), "grade", "--socket", a.Socket, "--suite", "unittest", "--solution", solution, "--csv",
			"--quiet", "tests", "class")
		c.Dir = dir
		out, err := c.CombinedOutput()
		return string(out), err
	}

	got, err := gradeSuite("teacher.py")
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}

	for name, want := range map[string]string{"ann": "AC,100 AC,AC", "bob": "WA,0 WA,WA", "cy": "WA,0 ,",
		"dan": "AC,100 AC,AC", "eve": "WA,0 WA,WA"} {
		ok := false
		for l := range strings.Lines(got) {
			start, end, _ := strings.Cut(want, " ")
			ok = ok || strings.HasPrefix(l, name+",done,"+start+",") && strings.HasSuffix(strings.TrimSpace(l), ","+end)
		}
		if !ok {
			t.Errorf("%s: no %s in\n%s", name, want, got)
		}
	}

	if got, err = gradeSuite("broken.py"); err == nil || !strings.Contains(got, "broken.py does not pass every case") {
		t.Errorf("%v: %s", err, got)
	}
}

// Jobs of a batch can have suites, and their results have the cases as tests.
func TestBatchOfSuites(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	for id, program := range map[string]string{"right": "def sq(x): return x * x", "half": "def sq(x): return min(x * x, 9)",
		"ended": "import os\nos._exit(0)"} {
		if err := e.Encode(api.Job{ID: id, Run: unittestRun(program)}); err != nil {
			t.Fatal(err)
		}
	}

	got := a.RunBatch(t, lines.Bytes())
	for id, want := range map[string]string{"right": "done 1 accepted", "half": "done 0.5 wrong-answer", "ended": "done 0 wrong-answer"} {
		one := got[id]
		if one.Score == nil || one.Result == nil || fmt.Sprintf("%s %v %s", one.Status, *one.Score, one.Answer) != want ||
			!one.Result.Tests[0].AnswerVisible {
			t.Errorf("%s: %+v; want %s", id, one, want)
		}
	}
}

// pytest and jest are in the full images.
func TestSuitesOfFullImages(t *testing.T) {
	if os.Getenv("BRIG_TEST_LANGUAGES") != "all" {
		return // the images take minutes to build
	}

	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m")
	harness.Images.Load(t, a, "python-full")
	harness.Images.Load(t, a, "node-full")
	pytest := unittestRun("def sq(x): return min(x * x, 9)")
	pytest.Language, pytest.Suite.Report = "python-full", api.ReportPytest
	pytest.Files = []api.File{{Name: "test_sq.py",
		Content: api.Bytes("import pytest\nfrom solution import sq\n\n@pytest.mark.parametrize('n', [1, 5])\ndef " +
			"test_sq(n):\n    assert sq(n) == n * n\n\ndef test_type():\n    with pytest.raises(TypeError):\n        sq('x')\n")}}
	jest := api.Run{Language: "javascript-full", Source: api.Bytes("exports.sq = x => Math.min(x * x, 9)"), SourceName: "solution.js",
		Suite: &api.Suite{Report: api.ReportJest}}
	jest.Files = []api.File{{Name: "sq.test.js",
		Content: api.Bytes("const { sq } = require('./solution.js')\ndescribe('sq', () => {\n  test.each([1, 5])('of " +
			"%i', n => expect(sq(n)).toBe(n * n))\n})\n")}}

	for _, tt := range []struct {
		r    api.Run
		want string
	}{
		{pytest, "0.67 test_sq.test_sq[1]=accepted test_sq.test_sq[5]=wrong-answer test_sq.test_type=accepted"},
		{jest, "0.50 sq of 1=accepted sq of 5=wrong-answer"},
	} {
		tt.r.Limits = api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}
		res := runSuite(t, a, tt.r)
		if got := fmt.Sprintf("%.2f %s", api.JobScore(res), cases(res)); got != tt.want {
			t.Errorf("%s: %s; want %s: %s %s", tt.r.Suite.Report, got, tt.want, res.Stdout, res.Stderr)
		}
	}

	for _, program := range []string{"import os; os._exit(0)", "import pytest\npytest.skip('no', allow_module_level=True)",
		"import pytest\ndef sq(x): pytest.skip('no')", "import pytest\ndef sq(x): pytest.exit('done', 0)"} {
		r := pytest
		r.Source = api.Bytes(program)
		if res := runSuite(t, a, r); api.JobScore(res) != 0 {
			t.Errorf("%q: %s", program, cases(res))
		}
	}
}

// brig run --suite judges one program, which keeps its name.
func TestRunSuite(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	dir := t.TempDir()
	r := unittestRun("")
	for name, text := range map[string]string{
		"test_sq.py": strings.Replace(string(r.Files[0].Content), "from solution", "from squares", 1), "squares.py": "def sq(x): return x * x",
		"other.py":  "def sq(x): return min(x * x, 9)",
		"leaves.py": "import os\nprint('so long', flush=True)\nos._exit(0)",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"squares.py"}, 0, []string{"2 of 2 accepted", "test_sq.Squares.test_large  AC"}},
		{[]string{"--source-name", "squares.py", "other.py"}, 1,
			[]string{"1 of 2 accepted, first failed: test_sq.Squares.test_large", "AssertionError"}},
		{[]string{"--source-name", "squares.py", "leaves.py"}, 1, []string{"0 of 1 accepted", "there is no report"}},
	} {
		c := exec.Command(harness.Binary(t, "brig"),
			append([]string{"run", "--socket", a.Socket, "--no-build", "--suite", "unittest", "--tests", "test_sq.py"}, tt.args...)...)
		c.Dir = dir
		out, _ := c.CombinedOutput() // its exit code is compared
		if got := c.ProcessState.ExitCode(); got != tt.code {
			t.Errorf("%v: exit code %d", tt.args, got)
		}
		for _, want := range tt.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v: there is no %q in\n%s", tt.args, want, out)
			}
		}
	}

	c := exec.Command(harness.Binary(t, "brig"), "run", "--socket", a.Socket, "--no-build", "--json", "--suite", "unittest", "--tests",
		"test_sq.py", "squares.py")
	c.Dir = dir
	out, err := c.Output()
	var res api.Result
	if err == nil {
		err = json.Unmarshal(out, &res)
	}
	if err != nil || len(res.Tests) != 2 || !res.Tests[0].AnswerVisible || res.Summary.Accepted != 2 {
		t.Errorf("%v: %s", err, out)
	}
}
