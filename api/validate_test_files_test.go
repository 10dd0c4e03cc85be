package api

import (
	"fmt"
	"strings"
	"testing"
)

// Named files that cannot be what they say are refused before anything runs, with the cause.
func TestValidateTestFiles(t *testing.T) {
	run := func(change func(r *Run)) Run {
		r := Run{Language: "python", Source: Bytes("x"), SourceName: "a.py", InputFile: "input.txt", OutputFile: "output.txt",
			Tests: []Test{{ID: "1"}, {ID: "2"}}}
		change(&r)
		return r
	}

	own := func(files ...File) func(r *Run) { return func(r *Run) { r.Tests[1].Files = files } }
	program := Program{Image: "tiny", Argv: []string{"x"}}
	for _, tt := range []struct {
		change func(r *Run)
		want   string // empty: valid
	}{
		{func(*Run) {}, ""},
		{func(r *Run) { r.InputFile = "" }, ""},
		{func(r *Run) { r.OutputFile = "out/a.txt" }, ""},
		{func(r *Run) { r.Files = []File{{Name: "input.txt"}, {Name: "output.txt"}} }, ""}, // those of a submission, which lose
		{func(r *Run) { r.Check = &Check{Program: program, Protocol: ProtocolKattis}; r.Passes = 2 }, ""},
		{func(r *Run) { r.Tests = nil }, "need tests"},
		{func(r *Run) { r.Tests, r.Source, r.SourceName, r.Suite = nil, Bytes("x"), "", &Suite{Report: "pytest"} }, "need tests"},
		{func(r *Run) { r.Interactor = &Interactor{Program: program, Protocol: ProtocolKattis} }, "interactor"},
		{func(r *Run) { r.Tests = []Test{{ID: "1", Asserts: Bytes("assert x")}} }, "call functions"},
		{func(r *Run) { r.OutputFile = "input.txt" }, "would leave its input"},
		{func(r *Run) { r.OutputFile = "a.py" }, "name of the source"},
		{func(r *Run) { r.OutputFile = "../output.txt" }, "output_file: file name"},
		{func(r *Run) { r.InputFile = "/etc/passwd" }, "is absolute"},
		{func(r *Run) { r.OutputFile = "input.txt/x" }, "also the directory"},
		{func(r *Run) { r.Files = []File{{Name: "output.txt/x"}} }, "also the directory"},
		{func(r *Run) { r.Files = []File{{Name: "d"}}; r.InputFile = "d/e/input.txt" }, "also the directory"},

		{own(File{Name: "words"}, File{Name: "d/data"}), ""},
		{func(r *Run) { own(File{Name: "words"})(r); r.Files = []File{{Name: "words"}} }, ""},
		{func(r *Run) {
			own(File{Name: "words"})(r)
			r.InputFile, r.OutputFile, r.Interactor = "", "", &Interactor{Program: program, Protocol: ProtocolKattis}
		}, ""},
		{own(File{Name: "a"}, File{Name: "a"}), "given twice"},
		{own(File{Name: "a/../../b"}), "has a part .."},
		{own(File{Name: "input.txt"}), "rename it"},
		{own(File{Name: "output.txt"}), "rename it"},
		{own(File{Name: "a.py"}), "rename it"},
		{own(File{Name: "a.py/x"}), "also the directory"},
		{own(File{Name: "output.txt/x"}), "also the directory"},
		{own(File{Name: "d/e"}, File{Name: "d"}), "also the directory"},
		{own(File{Name: "d"}, File{Name: "d/e/f"}), "also the directory"},
		{own(File{Name: "a", Blob: "../x"}), "sha256"},
		{own(File{Name: "a", Blob: strings.Repeat("0a", 32), Content: Bytes("x")}), "both content and a blob"},
		{own(File{Name: "d/e"}, File{Name: "d-f"}, File{Name: "d"}), "also the directory"}, // not next to each other
		{func(r *Run) { r.Files = []File{{Name: "d/e"}}; r.InputFile = "d" }, "also the directory"},
		{func(r *Run) { own(File{Name: "d"})(r); r.Files = []File{{Name: "d-f"}, {Name: "d/e"}} }, "also the directory"},
		{own(make([]File, MaxFiles+1)...), "too many files"},
	} {
		switch err := run(tt.change).Validate(); {
		case tt.want == "" && err != nil:
			t.Errorf("%v; want no error", err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%v; want %q", err, tt.want)
		}
	}
}

// The files of all tests together are bounded, also if each test has few.
func TestFilesOfAllTestsAreBounded(t *testing.T) {
	r := Run{Image: "tiny", Argv: []string{"true"}}
	for i := range MaxTests {
		one := Test{ID: fmt.Sprint(i)}
		for k := range MaxTestFiles / MaxTests {
			one.Files = append(one.Files, File{Name: fmt.Sprint(k)})
		}
		r.Tests = append(r.Tests, one)
	}

	if err := r.Validate(); err != nil {
		t.Error(err)
	}

	r.Tests[0].Files = append(r.Tests[0].Files, File{Name: "one more"})
	if err := r.Validate(); !HasCode(err, CodeBadFile) {
		t.Errorf("one file more: %v", err)
	}
}

// The directories of the files of a test are bounded: no limit of the run counts them, and a name may have 511.
// Files in the same ones are no more directories.
func TestDirectoriesOfTestFilesAreBounded(t *testing.T) {
	deep := strings.Repeat("a/", 500)
	r := Run{Image: "tiny", Argv: []string{"true"}, Tests: []Test{{ID: "1"}}}
	for i := range MaxFiles {
		r.Tests[0].Files = append(r.Tests[0].Files, File{Name: fmt.Sprintf("%s%d", deep, i)})
	}

	if err := r.Validate(); err != nil || CountDirs(r.Tests[0].Files) != 500 {
		t.Errorf("%v, %d directories; want 500", err, CountDirs(r.Tests[0].Files))
	}

	for i := range MaxFiles {
		r.Tests[0].Files[i].Name = fmt.Sprintf("%d/%sx", i, deep)
	}

	if err := r.Validate(); !HasCode(err, CodeBadFile) || !strings.Contains(err.Error(), "2052096 directories") {
		t.Errorf("501 directories for each file: %v", err)
	}
	if n := CountDirs([]File{{Name: "b"}, {Name: "a/b/c"}, {Name: "a/bc/d"}, {Name: "a-b/c"}, {Name: "a/b/d"}}); n != 4 {
		t.Errorf("%d directories; want a, a/b, a/bc and a-b", n)
	}
}

// A problem decides which files its tests have.
func TestProblemsDecideOnNamedFiles(t *testing.T) {
	for _, r := range []Run{{InputFile: "a"}, {OutputFile: "a"}} {
		if err := (RunRequest{Problem: "sum", Run: r}).ValidateProblem(); err == nil || !strings.Contains(err.Error(), "_file are both set") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
