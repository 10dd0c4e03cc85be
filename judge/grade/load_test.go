package grade

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/kattis"
	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// loaded reads a package of files.
func loaded(t *testing.T, files map[string]string) (Loader, error) {
	t.Helper()
	tree := problemtest.Tree(t, files)
	p, err := kattis.Read(tree)
	return Loader{Problem: p, Tree: tree, Put: func(string, []byte) (string, error) { return strings.Repeat("a", 64), nil }}, err
}

const head = "problem_format_version: 2025-09\nname: X\nuuid: 0c1bd2e4-0000-4000-8000-000000000001\n"

// A package becomes a Run that an agent accepts: groups, arguments, limits, checker with its files and with
// constants replaced.
func TestCommonOfAPackage(t *testing.T) {
	l, err := loaded(t, map[string]string{
		"problem.yaml":     head + "type: scoring\nlimits: {memory: 64, validation_time: 20}\nconstants: {n: 7}\nlanguages: [python3]\n",
		"data/sample/1.in": "s", "data/sample/1.ans": "S",
		"data/secret/test_group.yaml":   "output_validator_args: [x]\n",
		"data/secret/g/test_group.yaml": "max_score: 100\nrequire_pass: sample\n", "data/secret/g/1.in": strings.Repeat("i", inlineTest+1),
		"data/secret/g/1.ans":          "A",
		"data/secret/g/1.yaml":         "args: [-v]\n",
		"output_validator/__main__.py": "n = {{n}}", "output_validator/helper.py": "{{n}} {{m}}",
		"include/python3/lib.py": "L{{n}}", "include/default/other.txt": "",
		"submissions/accepted/a.py": "",
	})
	if err != nil {
		t.Fatal(err)
	}

	r, err := l.Common()
	if err != nil {
		t.Fatal(err)
	}

	r.Language, r.Source = "python", api.Bytes("x")
	if err := r.Validate(); err != nil {
		t.Fatalf("the agent would refuse it: %v", err)
	}
	if r.Check == nil || r.Check.Protocol != api.ProtocolKattis || string(r.Check.Source) != "n = 7" ||
		string(r.Check.Files[0].Content) != "7 {{m}}" || r.Check.Limits.CPU != 20000*ms {
		t.Errorf("the checker is %+v", r.Check)
	}
	if len(r.Tests) != 2 || r.Tests[1].StdinBlob == "" || string(*r.Tests[1].Expected) != "A" || r.Tests[1].Args[0] != "-v" ||
		r.Tests[1].CheckArgs[0] != "x" || r.Tests[0].CheckArgs != nil {
		t.Errorf("the tests are %+v", r.Tests)
	}
	if r.Limits.Memory != 64*api.MiB {
		t.Errorf("the limits are %+v", r.Limits)
	}

	groups, _ := json.Marshal(r.Groups)
	if want := `[{"id":"sample","tests":["sample/1"],"how":"sum"},{"id":"secret/g","tests":["secret/g/1"],"points":100,"how":"pass-fail","requires":["sample"]},{"id":"secret","groups":["secret/g"],"points":100,"how":"sum"}]`; string(groups) != want {
		t.Errorf("the groups are\n%s; want\n%s", groups, want)
	}

	files, err := l.Included("python", []api.File{{Name: "lib.py", Content: api.Bytes("theirs")}, {Name: "b.py"}})
	if err != nil || len(files) != 2 || files[1].Name != "lib.py" || string(files[1].Content) != "L7" {
		t.Errorf("the files are %v, %v", files, err)
	}
	if err := l.Allowed(Submission{}, "cpp"); err == nil || err.Error() != "the problem does not take cpp, only python" {
		t.Errorf("another language: %v", err)
	}
}

// Files of tests are those of the package, in the order of their names. Named files are those of the package,
// unless the command line names others.
func TestFilesOfTests(t *testing.T) {
	l, err := loaded(t, map[string]string{
		"problem.yaml": head, "data/secret/1.in": "", "data/secret/1.ans": "", "data/secret/2.in": "", "data/secret/2.ans": "",
		"submissions/accepted/a.py": "",
		"data/secret/2.files/b.txt": strings.Repeat("b", inlineTest+1), "data/secret/2.files/a/a.txt": "A",
	})
	if err != nil {
		t.Fatal(err)
	}

	l.Problem.InputFile, l.Problem.OutputFile = "input.txt", "output.txt"
	common, err := l.Common()
	if err != nil {
		t.Fatal(err)
	}

	files := common.Tests[1].Files
	if common.Tests[0].Files != nil || len(files) != 2 || files[0].Name != "a/a.txt" || string(files[0].Content) != "A" ||
		files[1].Name != "b.txt" || files[1].Blob == "" || files[1].Content != nil {
		t.Errorf("the tests are %+v", common.Tests)
	}

	for _, r := range []api.Run{{}, {InputFile: "other.txt"}} {
		want := r.InputFile
		Apply(&r, common, 0, api.Limits{})
		if want == "" {
			want = "input.txt"
		}
		r.Language, r.Source = "python", api.Bytes("x")
		if err := r.Validate(); r.InputFile != want || r.OutputFile != "output.txt" || err != nil {
			t.Errorf("input in %q, output in %q, %v", r.InputFile, r.OutputFile, err)
		}
	}
}

// A manager becomes an interactor, with what it says of the processes that it talks with.
func TestCommonOfAManager(t *testing.T) {
	tree := problemtest.Tree(t, map[string]string{"manager.py": "x"})
	manager := problem.Program{Main: "manager.py", Files: []string{"manager.py"}, Language: "python", Protocol: "cms"}
	r, err := Loader{Tree: tree, Problem: &problem.Problem{Interactive: true, Checker: &manager, Processes: 3, ProgramIO: "fifo_io"}}.Common()
	if i := r.Interactor; err != nil || i == nil || i.Protocol != api.ProtocolCMS || i.Processes != 3 || i.ProgramIO != api.FIFOIO ||
		string(i.Source) != "x" {
		t.Errorf("%+v, %v", i, err)
	}
}

// A problem without points is one group: all or nothing.
func TestPassFailIsAllOrNothing(t *testing.T) {
	l, err := loaded(t, map[string]string{
		"problem.yaml": head + "limits: {code: 1}\n", "data/secret/1.in": "", "data/secret/1.ans": "",
		"data/secret/1.yaml":        "output_validator_args: [float_tolerance, 1e-3]\n",
		"submissions/accepted/a.py": "",
	})
	if err != nil {
		t.Fatal(err)
	}

	r, err := l.Common()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 1 || r.Groups[0].How != api.AggregatePassFail || r.Groups[0].Points != 100 || r.Check != nil {
		t.Errorf("it is %+v", r)
	}
	if how := r.Tests[0].Compare; how == nil || how.How != api.CompareKattis || how.Absolute == nil || *how.Absolute != 1e-3 {
		t.Errorf("the comparison is %+v", how)
	}
	if err := l.Allowed(Submission{Text: make([]byte, 1025)}, "python"); err == nil || !strings.Contains(err.Error(), "the problem takes 1K") {
		t.Errorf("a large source: %v", err)
	}

	l.Put = func(string, []byte) (string, error) { return "", errors.New("no space") }
	if _, err := l.Common(); err != nil {
		t.Errorf("small tests need no blob: %v", err)
	}
}

func TestWithTime(t *testing.T) {
	for _, tt := range []struct{ cpu, wall api.Duration }{{1000 * ms, 6000 * ms}, {6900 * ms, 29600 * ms}, {20000 * ms, 30000 * ms},
		{60000 * ms, 60000 * ms}} {
		if l := WithTime(api.Limits{}, tt.cpu, api.Limits{}); l.CPU != tt.cpu || l.Wall != tt.wall {
			t.Errorf("%s: %s, %s; want %s", tt.cpu, l.CPU, l.Wall, tt.wall)
		}
	}

	if l := WithTime(api.Limits{CPU: 1000 * ms, Wall: 5000 * ms}, 2000*ms,
		api.Limits{Wall: 2000 * ms}); l.CPU != 1000*ms || l.Wall != 5000*ms {
		t.Errorf("limits of the caller: %+v", l)
	}

	for _, tt := range []struct{ ceiling, cpu, wall api.Duration }{{10000 * ms, 1000 * ms, 6000 * ms}, {10000 * ms, 8000 * ms, 10000 * ms},
		{10000 * ms, 12000 * ms, 12000 * ms}, {90000 * ms, 20000 * ms, 30000 * ms}} {
		if l := WithTime(api.Limits{}, tt.cpu, api.Limits{Wall: tt.ceiling}); l.CPU != tt.cpu || l.Wall != tt.wall {
			t.Errorf("%s of an agent that allows %s: %s, %s; want %s", tt.cpu, tt.ceiling, l.CPU, l.Wall, tt.wall)
		}
	}
}

// The testlib.h of old packages compiles with today's GCC; a newer one stays as it is.
func TestOldTestlibGetsItsIntegers(t *testing.T) {
	for header, want := range map[string]string{
		"uint64_t x;":                      "#include <cstdint>\n#line 1\nuint64_t x;",
		"#include <cstdint>\nuint64_t x;":  "#include <cstdint>\nuint64_t x;",
		"#include <stdint.h>\nuint64_t x;": "#include <stdint.h>\nuint64_t x;",
	} {
		l, err := loaded(t, map[string]string{
			"problem.yaml": head + "type: pass-fail\n", "data/secret/1.in": "", "data/secret/1.ans": "", "submissions/accepted/a.py": "",
			"problem_statement/problem.en.tex": "",
			"output_validator/check.cpp":       "#include \"testlib.h\"", "output_validator/testlib.h": header,
		})
		if err != nil {
			t.Fatal(err)
		}

		r, err := l.Common()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Check.Files[0].Content); r.Check.Files[0].Name != "testlib.h" || got != want {
			t.Errorf("%q becomes %q; want %q", header, got, want)
		}
	}
}

// A file of a test may be as large as a blob: it does not travel in the request.
func TestLargeInputs(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"1.in": int64(api.MaxBlob), "1.out": 1, "2.in": int64(api.MaxBlob) + 1, "2.out": 1} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
	}

	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	put := 0
	l := Loader{Problem: &problem.Problem{Format: "tests"}, Tree: tree, Put: func(_ string, content []byte) (string, error) {
		put = len(content)
		return strings.Repeat("a", 64), nil
	}}
	tests, err := l.Tests([]problem.Test{{ID: "1", Input: "1.in", Answer: "1.out"}})
	if err != nil || put != int(api.MaxBlob) || tests[0].StdinBlob == "" {
		t.Errorf("%d bytes, %v", put, err)
	}
	if _, err := l.Tests([]problem.Test{{ID: "2", Input: "2.in", Answer: "2.out"}}); err == nil || !strings.Contains(err.Error(), "2.in") ||
		!strings.Contains(err.Error(), "256M") {
		t.Errorf("one byte more: %v", err)
	}
}
