package plan

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

func namesIn(files []api.File) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

// A test has its own files and no others: what a submission brings under these names is not placed,
// and neither is an output file, which would be judged although the program wrote nothing (GRD-28).
func TestFilesOfATest(t *testing.T) {
	pl := &Planner{}
	r := api.Run{InputFile: "input.txt", OutputFile: "out/output.txt"}
	one := &Run{Source: "main.py", Files: []api.File{
		{Name: "main.py"}, {Name: "input.txt", Content: []byte("sample")}, {Name: "out/output.txt", Content: []byte("stale")},
		{Name: "words", Content: []byte("theirs")}, {Name: "own.h"},
	}}
	was := slices.Clone(one.Files)
	pl.nameFiles(one, r, api.Test{Stdin: []byte("1 2"), Files: []api.File{{Name: "words", Content: []byte("ours")}}})
	if got := namesIn(one.Files); !slices.Equal(got, []string{"main.py", "own.h"}) {
		t.Errorf("of the run: %v", got)
	}
	if got := one.TestFiles(); !slices.Equal(namesIn(got), []string{"words", "input.txt"}) || string(got[1].Content) != "1 2" ||
		string(got[0].Content) != "ours" {
		t.Errorf("of the test: %+v", got)
	}
	if one.PipedStdin() != nil || !slices.Equal(one.Dirs, []string{"out"}) {
		t.Errorf("on stdin %q, directories %v", one.PipedStdin(), one.Dirs)
	}
	if !slices.Equal(namesIn(was), []string{"main.py", "input.txt", "out/output.txt", "words", "own.h"}) {
		t.Error("the files of other tests have changed")
	}

	pl.nameFiles(one, api.Run{}, api.Test{Stdin: []byte("1 2")})
	if len(one.TestFiles()) != 0 || string(one.PipedStdin()) != "1 2" {
		t.Errorf("without names: %v, on stdin %q", one.TestFiles(), one.PipedStdin())
	}
}

// The files of a test are no memory of the program, which cannot write to them: the host reserves
// their pages, before those that are blobs are loaded and afterwards (AGT-21).
func TestFilesOfATestAreReserved(t *testing.T) {
	blobs, err := cache.Open(t.TempDir(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}

	digest := strings.Repeat("0a", 32)
	if err := blobs.Put(digest, bytes.NewReader(make([]byte, 2<<20))); err != nil {
		t.Fatal(err)
	}

	pl := &Planner{Blobs: blobs}
	test := api.Test{StdinBlob: digest, Files: []api.File{{Name: "words", Blob: digest}, {Name: "more", Content: make([]byte, 1<<20)}}}
	p := &Run{Limits: api.Limits{Memory: 8 * api.MiB, Scratch: api.MiB, Inodes: 10}}
	pl.nameFiles(p, api.Run{InputFile: "in/input.txt"}, test)
	if got := p.Reservation(); got != 13*api.MiB {
		t.Errorf("before they are loaded %s is reserved; want 13M", got)
	}
	if _, err := pl.TestContent(p, test); err != nil {
		t.Fatal(err)
	}
	if got := p.Reservation(); got != 13*api.MiB {
		t.Errorf("afterwards %s is reserved; want 13M", got)
	}
	if err := p.CheckMemory(); err != nil || InputMemory(p.Files) != 0 {
		t.Errorf("%v, %s of the program's memory", err, InputMemory(p.Files))
	}
	if size, inodes := p.ScratchSize(); size != 6*api.MiB || inodes != 14 {
		t.Errorf("a scratch of %s with %d inodes; want room for 5M in three files and a directory", size, inodes)
	}

	for _, f := range p.TestFiles() {
		if len(f.Content) < 1<<20 || f.Blob != "" {
			t.Errorf("%s has %d bytes", f.Name, len(f.Content))
		}
	}
}

// A test whose blobs are not all there is refused when it is planned, however they are named: its memory would be
// planned without them, and they could be stored while it waits for a slot.
func TestMissingBlobsOfATest(t *testing.T) {
	blobs, err := cache.Open(t.TempDir(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}

	there, missing := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
	if err := blobs.Put(there, bytes.NewReader(make([]byte, 8))); err != nil {
		t.Fatal(err)
	}

	j := &Job{Run: &Run{Limits: api.Defaults()}}
	for _, at := range []*Planner{{Blobs: blobs}, {}} {
		for what, of := range map[string]func(digest string) api.Test{
			"stdin":    func(d string) api.Test { return api.Test{StdinBlob: d} },
			"expected": func(d string) api.Test { return api.Test{ExpectedBlob: d} },
			"a file":   func(d string) api.Test { return api.Test{Files: []api.File{{Name: "a"}, {Name: "b", Blob: d}}} },
		} {
			_, err := at.Test(j, of(missing))
			if want := map[bool]api.Code{true: api.CodeNoBlob, false: api.CodeUnsupported}[at.Blobs != nil]; !api.HasCode(err, want) {
				t.Errorf("%s: %v; want %s", what, err, want)
			}
			if _, err := at.Test(j, of(there)); (err == nil) != (at.Blobs != nil) {
				t.Errorf("%s that is there: %v", what, err)
			}
		}

		if _, err := at.Test(j, api.Test{Stdin: []byte("x")}); err != nil {
			t.Errorf("without blobs: %v", err)
		}
	}
}

// No file of a test takes the place of the program.
func TestFilesOfTestsAreNoProgram(t *testing.T) {
	lang := Language{Manifest: languages.Manifest{Name: "c", Artifacts: []string{"main", "classes"}}}
	for _, tt := range []struct {
		name     string
		compiled bool
		want     bool // accepted
	}{
		{"input.txt", true, true}, {"main.c", true, false}, {"main.c/x", true, false}, {"main", true, false}, {"classes/A.class", true, false},
		{"main", false, true}, {"main.c", false, false},
	} {
		source := api.Bytes("x")
		for field, r := range map[string]api.Run{
			"input_file": {Source: source, InputFile: tt.name}, "output_file": {Source: source, OutputFile: tt.name},
			"files": {Source: source, Tests: []api.Test{{ID: "1", Files: []api.File{{Name: tt.name}}}}},
		} {
			if err := checkTestFiles(r, lang, "main.c", tt.compiled); (err == nil) != tt.want || err != nil && !api.HasCode(err, api.CodeBadFile) {
				t.Errorf("%s %s, compiled %v: %v", field, tt.name, tt.compiled, err)
			}
		}
	}

	if err := checkTestFiles(api.Run{InputFile: "main.c"}, lang, "main.c", false); err != nil {
		t.Errorf("a command has no source: %v", err)
	}
}

// A compile stage has no files of tests, and its cache does not know them: its inputs are those of
// the run.
func TestFilesOfTestsAreNotCompiled(t *testing.T) {
	r := api.Run{Source: api.Bytes("x"), InputFile: "input.txt",
		Tests: []api.Test{{ID: "1", Stdin: []byte("secret"), Files: []api.File{{Name: "words.h"}}}}}
	files, err := sourceFile(r, "main.c")
	if err != nil || !slices.Equal(namesIn(files), []string{"main.c"}) {
		t.Errorf("the compiler gets %v, %v", namesIn(files), err)
	}
}

// An interpreter that has imported modules could have imported one of these files instead; text
// files cannot be imported. What an interpreter reads when it starts counts in any case.
func TestFilesOfTestsAndTemplates(t *testing.T) {
	for name, data := range map[string]bool{
		"input.txt": true, "data.in": true, "words.csv": true, "numpy.py": false, "numpy/x.txt": false, "numpy.so": false, "input": false,
		"sitecustomize.pyc": false,
	} {
		files := placedFiles(api.Run{InputFile: name})
		more := placedFiles(api.Run{Tests: []api.Test{{}, {Files: []api.File{{Name: name}}}}})
		if len(files) != 1 || len(more) != 1 || files[0] != more[0] || files[0].data != data {
			t.Errorf("%s: %+v, %+v", name, files, more)
		}
	}

	lang := Language{Manifest: languages.Manifest{SourceFile: "main.py"}}
	hidden := api.Run{Source: api.Bytes("1"), Tests: []api.Test{{}, {Files: []api.File{{Name: ".local/lib/x.pth"}}}}}
	if why := coldInterpreter(hidden, lang, &Run{Source: "main.py"}, "python"); !strings.Contains(why, ".local/lib/x.pth") {
		t.Errorf("a file of a test that the start reads: %q", why)
	}
}
