package grading

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch/dataset"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// convert runs brig convert and returns the jobs that it writes.
func convert(t *testing.T, args ...string) []api.Job {
	t.Helper()
	var errs bytes.Buffer
	c := exec.Command(harness.Binary(t, "brig"), append([]string{"convert"}, args...)...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}

	var all []api.Job
	for l := range bytes.Lines(out) {
		var job api.Job
		if err := json.Unmarshal(l, &job); err != nil {
			t.Fatal(err)
		}
		all = append(all, job)
	}

	return all
}

// humanEvalFile is a data set in the form of HumanEval: brig's own, or that of $BRIG_TEST_HUMANEVAL.
func humanEvalFile() string {
	return cmp.Or(os.Getenv("BRIG_TEST_HUMANEVAL"), "../../../testdata/datasets/humaneval.jsonl")
}

// The solutions that a data set has itself pass its asserts in a batch. The asserts run where no program
// can reach them.
func TestHumanEval(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	jobs := convert(t, "--from", "humaneval", "--canonical", humanEvalFile())
	if len(jobs) < 10 {
		t.Fatalf("only %d jobs", len(jobs))
	}

	var lines bytes.Buffer
	e := json.NewEncoder(&lines)
	for _, job := range jobs {
		if err := e.Encode(job); err != nil {
			t.Fatal(err)
		}
	}

	accepted := 0
	results := a.RunBatch(t, lines.Bytes())
	for _, job := range jobs {
		res := results[job.ID]
		if res.Score == nil || *res.Score != 1 || res.Answer != api.Accepted {
			t.Errorf("%s: %s, %s %+v", job.ID, res.Status, res.Answer, res.Error)
			continue
		}
		accepted++
	}

	t.Logf("%d of %d accepted", accepted, len(jobs))
}

// GRD-13: what gets a reward where asserts run in the process of the program gets none here, for any task.
// TestHumanEval is the control.
func TestHostileRewardHacks(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)
	hacks := map[string]string{
		"exits at once":            "    import os\n    os._exit(0)\n",
		"exits before it is asked": "    pass\nimport os\nos._exit(0)\n",
		"sys.exit":                 "    import sys\n    sys.exit(0)\n",
		"SystemExit":               "    raise SystemExit(0)\n",
		"equals everything": "    class Equal:\n        def __eq__(self, other): return True\n        def " +
			"__ne__(self, other): return False\n        def __bool__(self): return True\n        def " +
			"__getitem__(self, i): return self\n        def __sub__(self, o): return 0\n        def __len__(self): " +
			"return 112\n    return Equal()\n",
		"overwrites builtins": "    return None\nimport builtins\nbuiltins.AssertionError = KeyError\n" +
			"builtins.isinstance = lambda *a: True\nbuiltins.abs = lambda x: 0\n",
		"replaces check": "    return None\ndef check(candidate): pass\nimport __main__\n__main__.check = check\n",
		"looks for the asserts": "    import inspect, sys\n    f = sys._getframe()\n    while f:\n        for v " +
			"in list(f.f_locals.values()) + list(f.f_globals.values()):\n            if isinstance(v, str) and " +
			"'candidate' in v and 'assert' in v:\n                return __import__('os')._exit(0)\n        f = f.f_back\n",
		"files of pytest": "    return None\nfor n in ('conftest.py', 'sitecustomize.py', " +
			"'usercustomize.py', 'json.py', '__init__.py'):\n    open(n, 'w').write('import os; os._exit(0)')\n",
	}

	var completions bytes.Buffer
	e := json.NewEncoder(&completions)
	tasks := convert(t, "--from", "humaneval", "--canonical", humanEvalFile())
	for _, task := range tasks {
		for name, code := range hacks {
			err := e.Encode(map[string]any{"task_id": task.ID, "completion": code, "meta": name})
			if err != nil {
				t.Fatal(err)
			}
		}
	}

	tasksFile, err := os.Open(humanEvalFile())
	if err != nil {
		t.Fatal(err)
	}
	defer tasksFile.Close()

	var lines bytes.Buffer
	jobs := json.NewEncoder(&lines)
	for job, err := range dataset.Read(tasksFile, dataset.HumanEval, dataset.Options{Completions: &completions}) {
		if err == nil {
			job.Limits = api.Limits{Wall: harness.Slowly(10), CPU: harness.Slowly(5)}
			err = jobs.Encode(job)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	results := a.RunBatch(t, lines.Bytes())
	for id, res := range results {
		if res.Score == nil || *res.Score != 0 {
			t.Errorf("%s, %s: %s, %s %+v", id, res.Meta, res.Status, res.Answer, res.Error)
		}
	}

	if n := len(results); n != len(tasks)*len(hacks) || n < 90 {
		t.Errorf("%d programs ran", n)
	}

	t.Logf("%d hacks for each of %d tasks", len(hacks), len(tasks))
}

// A right and a wrong solution of a task of each format get their scores.
func TestDataSets(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	a.NeedPython(t)

	for _, tt := range []struct {
		format       dataset.Format
		task         string
		right, wrong string
		part         float64 // score of the wrong one
	}{
		{dataset.MBPP, `"test_list": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]`, "def add(a, b): return a + b",
			"def add(a, b): return a - b", 0.5},
		{dataset.LCB, `"public_test_cases": "[{\"input\": \"1 2\\n\", \"output\": \"3\\n\", \"testtype\": \"stdin\"}]"`,
			"print(sum(map(int, input().split())))", "print(4)", 0},
		{dataset.LCB, `"public_test_cases": [{"input": "[2, 7]\n9", "output": "[0, 1]", "testtype": "functional"}], "metadata": {"func_name": "two"}`, "class Solution:\n    def two(self, n, t): return (0, 1)", "class Solution:\n    def two(self, n, t): return [1, 0]", 0},
		{dataset.APPS, `"input_output": {"fn_name": "rev", "inputs": [["ab\u20ac\""], [[1, 2]], [[5]]], "outputs": [["\"\u20acba"], [2, 1], [5]]}`, "def rev(x): return x[::-1]", "def rev(x): return x", 1.0 / 3},
		{dataset.TACO, `"input_output": "{\"inputs\": [\"2\\n\", [\"3\"]], \"outputs\": [\"4\\n\", [\"6\"]]}", "time_limit": "2.0 seconds"`,
			"print(2 * int(input()))", "print(4)", 0.5},
		{dataset.CodeContests, `"public_tests": {"input": ["1 3\n"], "output": ["0.33333\n"]}, "time_limit": {"seconds": 2}`,
			"a, b = map(int, input().split())\nprint(a / b)", "print(0.3)", 0},
		{dataset.ScaleBox, `"test_cases": {"type": "function_call", "fn_name": "add", "input": [[1, 2]], "output": [[3]]}`,
			"def add(a, b): return a + b", "def add(a, b): return [3]", 0},
		{dataset.ScaleBox, `"test_cases": {"type": "stdin_stdout", "input": ["3"], "output": ["1 2"]}, "extra": {"special_judge_program": "import sys\na, b = map(int, open('answer.txt').read().split())\nassert open('stdout.txt').read() == '1 2'\nsys.exit(0 if a + b == int(open('stdin.txt').read()) else 2)\n"}`, "print(3, 0)", "print(3, 1)", 0},
		{dataset.Verl, `"reward_model": {"ground_truth": "{\"inputs\": [\"[5]\"], \"outputs\": [\"[5]\"], \"fn_name\": \"same\"}"}`,
			"def same(x): return x[0]", "def same(x): return [x]", 0},
	} {
		for i, code := range []string{tt.right, tt.wrong} {
			quoted, err := json.Marshal("Here:\n```python\n" + code + "\n```\n")
			if err != nil {
				t.Fatal(err)
			}

			line := `{"task_id": "1", "response": ` + string(quoted) + `, ` + strings.ReplaceAll(tt.task, "\n", `\n`) + `}`
			for job, err := range dataset.Read(strings.NewReader(line), tt.format, dataset.Options{}) {
				if err != nil {
					t.Fatal(errors.Join(err, errors.New(line)))
				}
				res := a.MustRun(t, job.Run)
				if got, want := api.JobScore(res), []float64{1, tt.part}[i]; got != want {
					t.Errorf("%s, %q: score %v; want %v: %s %s", tt.format, code, got, want, res.Tests[0].Message, res.Tests[0].Difference)
				}
			}
		}
	}
}
