package grade

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// foundIn returns the submissions of a class, each in one line.
func foundIn(t *testing.T, f Finder, tree *problem.Tree) []string {
	t.Helper()
	all, err := f.In(tree)
	if err != nil {
		t.Fatal(err)
	}
	SetNames(all)
	var lines []string
	for _, s := range all {
		lines = append(lines, shown(s))
	}
	return lines
}

func TestClasses(t *testing.T) {
	notHandedIn := ": " + ErrNotHandedIn.Error() + ": there is no file in it"
	for _, tt := range []struct {
		name  string
		files map[string]string // a name with "/" at its end is an empty directory
		want  []string
	}{
		{"one person with a helper", map[string]string{"ann/main.py": "A", "ann/helper.py": "H"}, []string{"ann: main.py A [helper.py]"}},
		{"one person with one file", map[string]string{"ann/x.py": "A"}, []string{"ann: x.py A []"}},
		{"one person with a project", map[string]string{"ann/src/main.py": "A", "ann/data/in.txt": "D"},
			[]string{"ann: main.py A [data/in.txt]"}},
		{"one person in the directory of a class", map[string]string{"subs/ann/main.py": "A", "subs/ann/helper.py": "H"},
			[]string{"ann: main.py A [helper.py]"}},
		{"one person of Moodle",
			map[string]string{"Ann Lee_1001_assignsubmission_file_/a.py": "A", "Ann Lee_1001_assignsubmission_file_/b.py": "import a"},
			[]string{"Ann Lee: b.py import a [a.py]"}},
		{"one person with own tests", map[string]string{"ann/shapes.py": "A", "ann/test_shapes.py": "import shapes", "ann/conftest.py": ""},
			[]string{"ann: shapes.py A [conftest.py test_shapes.py]"}},
		{"one person with own tests in Java", map[string]string{"ann/Calc.java": "A", "ann/CalcTest.java": "T"},
			[]string{"ann: Calc.java A [CalcTest.java]"}},
		{"a class with a name like a test", map[string]string{"hw3/ann.go": "A", "hw3/bob_test.go": "B"},
			[]string{"ann: ann.go A []", "bob_test: bob_test.go B []"}},
		{"a class in a directory", map[string]string{"hw3/ann.py": "A", "hw3/bob.py": "B"}, []string{"ann: ann.py A []", "bob: bob.py B []"}},
		{"a class in a directory with the name of the archive", map[string]string{"class/ann.py": "A"}, []string{"ann: ann.py A []"}},
		{"a class with directories in a directory", map[string]string{"hw3/ann/a.py": "A", "hw3/bob/b.py": "B"},
			[]string{"ann: a.py A []", "bob: b.py B []"}},
		{"an empty directory next to a person", map[string]string{"ann/Lösung 1.py": "A", "rosa/": ""},
			[]string{"ann: Lösung 1.py A []", "rosa" + notHandedIn}},
		{"an empty directory alone", map[string]string{"rosa/": ""}, []string{"rosa" + notHandedIn}},
		{"a directory with an empty directory", map[string]string{"ann.py": "A", "rosa/src/": ""},
			[]string{"ann: ann.py A []", "rosa" + notHandedIn}},
		{"only what systems add", map[string]string{"ann.py": "A", "rosa/.DS_Store": "x", "rosa/__MACOSX/x.py": "x"},
			[]string{"ann: ann.py A []", "rosa" + notHandedIn}},
		{"archives without a program",
			map[string]string{"ann.py": "A", "rosa.zip": zipped(t, nil), "tom.zip": "",
				"uwe.zip": zipped(t, map[string]string{"report.pdf": "%PDF"})}, []string{
				"ann: ann.py A []", "rosa" + notHandedIn, "tom: nothing was handed in: tom.zip is empty",
				"uwe: nothing was handed in: no file in it has a name that says its language (report.pdf): add " +
					"--language, or leave it out with --ignore"}},
		{"names of Moodle", map[string]string{"Ada_1001_assignsubmission_file_/x.py": "A", "bob_4711_assignsubmission_file_ex 1.py": "B",
			"Cy_1_assignsubmission_file_/": ""},
			[]string{"Ada: x.py A []", "bob: bob_4711_assignsubmission_file_ex 1.py B []", "Cy" + notHandedIn}},
		{"two people of one name", map[string]string{"Ada_1_assignsubmission_file_/x.py": "A", "Ada_2_assignsubmission_file_/x.py": "B"},
			[]string{"Ada_1_assignsubmission_file_: x.py A []", "Ada_2_assignsubmission_file_: x.py B []"}},
		{"names in human order",
			map[string]string{"Zoe.py": "", "élodie.py": "", "Çağla.py": "", "Carl.py": "", "Dora.py": "", "ex10.py": "", "ex9.py": ""},
			[]string{"Çağla: Çağla.py  []", "Carl: Carl.py  []", "Dora: Dora.py  []", "élodie: élodie.py  []", "ex9: ex9.py  []",
				"ex10: ex10.py  []", "Zoe: Zoe.py  []"}},
		{"a README and one piece of work", map[string]string{"ann/README.md": "R", "ann/lab1/x.py": "A"}, []string{"ann: x.py A [README.md]"}},
		{"one piece of work", map[string]string{"ann/lab1/x.py": "A"}, []string{"ann: x.py A []"}},
		{"hidden files and one piece of work", map[string]string{"ann/.gitignore": "G", "ann/.DS_Store": "S", "ann/__MACOSX/lab1/x.py": "M",
			"ann/Exercise 2/x.py": "A"}, []string{"ann: x.py A []"}},
		{"a report and a directory of any name", map[string]string{"ann/report.pdf": "R", "ann/hello/x.py": "A"},
			[]string{"ann: x.py A [report.pdf]"}},
		{"a Makefile and a directory of any name", map[string]string{"ann/Makefile": "M", "ann/hello/x.c": "A"},
			[]string{"ann: x.c A [Makefile]"}},
		{"two pieces of work", map[string]string{"ann/README.md": "R", "ann/lab1/x.py": "A", "ann/lab2/y.py": "B"}, []string{
			"ann: it has 2 sources (lab1/x.py, lab2/y.py), and nothing says which is the program: call it main, or name it with --source-name"}},
		{"two pieces of work, one main", map[string]string{"ann/lab1/main.py": "A", "ann/lab2/y.py": "B"},
			[]string{"ann: main.py A [lab2/y.py]"}},
		{"a piece of work and a directory without a source", map[string]string{"ann/lab1/x.py": "A", "ann/notes/n.txt": "N"},
			[]string{"ann: x.py A [notes/n.txt]"}},
		{"a piece of work and an empty directory", map[string]string{"subs/lab1/x.py": "A", "subs/rosa/": ""},
			[]string{"lab1: x.py A []", "rosa" + notHandedIn}},
		{"a README of a class of directories", map[string]string{"subs/README.md": "R", "subs/ann/x.py": "A", "subs/bob/x.py": "B"},
			[]string{"ann: x.py A []", "bob: x.py B []"}},
		{"a README of a class, next to it", map[string]string{"README.md": "R", "LICENSE": "L", "ann.py": "A", "bob/x.py": "B"},
			[]string{"ann: ann.py A []", "bob: x.py B []"}},
		{"a README of a piece of work, in which one person is", map[string]string{"hw3/README.md": "R", "hw3/ann/x.py": "A"},
			[]string{"ann: x.py A []"}},
		{"a README next to the only person", map[string]string{"README.md": "R", "ann/lab1/x.py": "A", "ann/README.txt": ""},
			[]string{"ann: x.py A [README.txt]"}},
		{"a class in which each has a piece of work",
			map[string]string{"subs/ann/lab1/x.py": "A", "subs/ann/README.md": "R", "subs/bob/lab1/x.py": "B"},
			[]string{"ann: x.py A [README.md]", "bob: x.py B []"}},
		{"names of people that end in numbers", map[string]string{"subs/s1/x.py": "A", "subs/1002/x.py": "B", "subs/team3/x.py": "C"},
			[]string{"1002: x.py B []", "s1: x.py A []", "team3: x.py C []"}},
		{"nothing but a README", map[string]string{"ann/README.md": "R"}, []string{"ann: nothing was handed in: no file in it has a " +
			"name that says its language (README.md): add --language, or leave it out with --ignore"}},
		{"files that may be of people", map[string]string{"ann.py": "A", "bob.pdf": "B"}, []string{"ann: ann.py A []",
			"bob: bob.pdf: its name does not say its language: add --language, or leave it out with --ignore"}},
		{"a report next to an archive", map[string]string{"ann/report.pdf": "R", "bob/x.py": "B",
			"ann/code.zip": zipped(t, map[string]string{"hw/x.py": "A", "hw/d.txt": "D"})}, []string{"ann: x.py A [d.txt]", "bob: x.py B []"}},
		{"a source next to an archive", map[string]string{"ann/data.zip": zipped(t, nil), "ann/x.py": "A", "bob/x.py": "B"},
			[]string{"ann: x.py A [data.zip]", "bob: x.py B []"}},
		{"names with dots", map[string]string{"v1.2.py": "A", "J. Doe/x.py": "B", "J. Roe/": ""},
			[]string{"J. Doe: x.py B []", "J. Roe" + notHandedIn, "v1.2: v1.2.py A []"}},
	} {
		dir := filepath.Join(t.TempDir(), "class")
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		for name, text := range tt.files {
			w, err := z.Create(name)
			place := filepath.Join(dir, name)
			if strings.HasSuffix(name, "/") {
				err = errors.Join(err, os.MkdirAll(place, 0o755))
			} else {
				_, failed := w.Write([]byte(text))
				err = errors.Join(err, failed, os.MkdirAll(filepath.Dir(place), 0o755), os.WriteFile(place, []byte(text), 0o644))
			}
			if err != nil {
				t.Fatal(err)
			}
		}

		archive := filepath.Join(t.TempDir(), "class.zip")
		if err := errors.Join(z.Close(), os.WriteFile(archive, packed.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}

		for _, from := range []string{dir, archive} {
			tree, err := problem.OpenTolerant(from)
			if err != nil {
				t.Fatal(err)
			}
			if got := foundIn(t, finder, tree); !slices.Equal(got, tt.want) {
				t.Errorf("%s, %s:\n%s\nwant\n%s", tt.name, filepath.Base(from), strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			_ = tree.Close()
		}
	}
}

// --language makes each file a source: what people write about their programs is their program only if nothing else is.
func TestReportsAreNoPrograms(t *testing.T) {
	all := Finder{IsSource: func(string, func() []byte) bool { return true }}
	for _, tt := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"README.md": "R", "lab1/x": "A"}, "x [README.md]"},
		{map[string]string{"report.PDF": "R", "LICENSE": "L", "Makefile": "M", "x.prog": "A"}, "x.prog [LICENSE Makefile report.PDF]"},
		{map[string]string{"answer.txt": "A"}, "answer.txt []"},
	} {
		tree, err := problem.OpenZip("ann.zip", []byte(zipped(t, tt.files)))
		if err != nil {
			t.Fatal(err)
		}

		var others []string
		s := all.Directory(tree, "ann")
		for _, f := range s.Files {
			others = append(others, f.Name)
		}
		if got := s.Main + " [" + strings.Join(others, " ") + "]"; s.Err != nil || got != tt.want {
			t.Errorf("%v: %s, %v; want %s", tt.files, got, s.Err, tt.want)
		}
	}
}

func TestProjects(t *testing.T) {
	replaced := finder
	replaced.Program = "shapes.py"
	replaced.Replaced = func(name string) bool { return name == "check.py" || name == "conftest.py" }

	for _, tt := range []struct {
		name  string
		with  Finder
		files map[string]string
		want  string
	}{
		{"sources above", finder, map[string]string{"src/main.cpp": `#include "../include/u.h"`, "src/u.cpp": "U", "include/u.h": "H"},
			`src/main.cpp #include "../include/u.h" [include/u.h src/u.cpp]`},
		{"headers in include", finder, map[string]string{"src/main.cpp": `#include "u.h"`, "include/u.h": `#include "v.h"`, "include/v.h": "V"},
			`main.cpp #include "u.h" [include/u.h include/v.h u.h v.h]`},
		{"data next to sources that stay", finder, map[string]string{"src/main.cpp": `#include "../u.h"`, "src/words.txt": "W", "u.h": "H"},
			`src/main.cpp #include "../u.h" [src/words.txt words.txt u.h]`},
		{"one name in two directories", finder, map[string]string{"src/main.py": "M", "src/u.py": "U1", "u.py": "U2"}, "main.py M [u.py]"},
		{"main before other usual names", finder, map[string]string{"main.py": "M", "solution.py": "S"}, "main.py M [solution.py]"},
		{"the nearest main", finder, map[string]string{"main.py": "M", "lib/main.py": "L"}, "main.py M [lib/main.py]"},
		{"a helper that is imported", finder, map[string]string{"calc.py": "import tools", "tools.py": "T"}, "calc.py import tools [tools.py]"},
		{"own tests", finder, map[string]string{"calc.py": "C", "test_calc.py": "import calc", "tests/more.py": "import calc", "conftest.py": ""},
			"calc.py C [conftest.py test_calc.py tests/more.py]"},
		{"nothing but a test", finder, map[string]string{"lab1_test.go": "G"}, "lab1_test.go G []"},
		{"a built binary", finder, map[string]string{"main.c": "M", "main": "\x7fELF", "a.out": "\x7fELF"}, "main.c M [a.out main]"},
		{"a file that the tests name", replaced,
			map[string]string{"shapes.py": "S", "helper.py": "H", "conftest.py": "", "test_shapes.py": "import shapes"},
			"shapes.py S [conftest.py helper.py test_shapes.py]"},
		{"files that the tests replace", replaced, map[string]string{"area.py": "A", "check.py": "C", "conftest.py": ""},
			"area.py A [check.py conftest.py]"},
		{"a notebook", finder,
			map[string]string{"hw.ipynb": `{"cells": [{"cell_type": "markdown", "source": "# x"}, {"cell_type": "code", "source": ["%matplotlib inline\n", "print(1)"]},
			{"cell_type": "code", "source": "%%bash\nls"}, {"cell_type": "code", "source": "!pip install x\nprint(7 % 2)"}], "metadata": {"kernelspec": {"language": "python"}}}`, "data.csv": "D"},
			"hw.py pass # %matplotlib inline\nprint(1)\n\n\n\npass # !pip install x\nprint(7 % 2)\n\n [data.csv]"},
		{"a notebook next to its program", finder, map[string]string{"hw.ipynb": `{"cells": []}`, "hw.py": "P"}, "hw.py P [hw.ipynb]"},
	} {
		tree, err := problem.OpenZip("ann.zip", []byte(zipped(t, tt.files)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(shown(tt.with.Directory(tree, "ann")), "ann: "); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}

// Nothing that one person hands in refuses the class.
func TestOneSubmissionRefusesNoClass(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("x"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}

	write("ann.py")
	write("bob/L\x94sung.py")
	write("cy/" + strings.Repeat("d/", 40) + "x.py")
	write("dan/main.py")
	if err := errors.Join(unix.Mkfifo(filepath.Join(dir, "dan/pipe"), 0o600), os.Symlink("/", filepath.Join(dir, "eve")),
		os.WriteFile(filepath.Join(dir, "fay.zip"), []byte("PK\x03\x04"), 0o644)); err != nil {
		t.Fatal(err)
	}

	write("gil/big.py")
	if err := os.Truncate(filepath.Join(dir, "gil/big.py"), 5<<30); err != nil {
		t.Fatal(err)
	}

	tree, err := problem.OpenTolerant(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	got := foundIn(t, finder, tree)
	for i, want := range []string{"ann: ann.py x []", "bob: the file name \"bob/L\\x94sung.py\" is not UTF-8: rename it", "cy: cy/d/",
		"dan: dan/pipe is a FIFO", "eve: eve is a link", "fay: fay.zip: the archive is incomplete", "gil: gil/big.py is 5G"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("%q; want %q", got[min(i, len(got)-1)], want)
		}
	}
}

// The tests that a person wrote are no cases of the teacher's suite (newcomer T1).
func TestWithoutOwnTests(t *testing.T) {
	for _, tt := range []struct{ name, main, text, files, want string }{
		{"pytest", "shapes.py", "", "test_a.py a_test.py tests/test_b.py helper.py", "helper.py"},
		{"jest", "sum.js", "", "sum.test.js sum.spec.ts __tests__/x.js lib/u.js", "lib/u.js"},
		{"junit", "Calc.java", "", "CalcTest.java src/test/java/CalcTests.java Helper.java", "Helper.java"},
		{"pester", "Calc.ps1", "", "Calc.Tests.ps1 Helper.ps1", "Helper.ps1"},
		{"what the program imports", "shapes.py", "import test_data", "test_data.py test_x.py", "test_data.py"},
		{"data", "shapes.py", "", "tests/1.txt test/words.csv", "tests/1.txt test/words.csv"},
		{"a module for setting up", "app.js", "", "setup.js", "setup.js"},
		{"words that end as tests do", "shapes.py", "", "latest.py contest.py", "latest.py contest.py"},
	} {
		s := Submission{Main: tt.main, Text: []byte(tt.text)}
		for name := range strings.FieldsSeq(tt.files) {
			s.Files = append(s.Files, api.File{Name: name})
		}
		var got []string
		for _, f := range s.WithoutOwnTests() {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s; want %s", tt.name, got, tt.want)
		}
	}
}

// A class is found below a few directories that hold nothing else. Below hundreds of them it is one submission: each
// such directory costs a copy of the list of all files.
func TestDirectoriesAroundAClass(t *testing.T) {
	for _, tt := range []struct{ around, want int }{{0, 2}, {1, 2}, {maxOuter - 1, 2}, {maxOuter, 2}, {maxOuter + 1, 1}, {400, 1}} {
		outer := strings.Repeat("a/", tt.around)
		archive := filepath.Join(t.TempDir(), "a.zip")
		packed := zipped(t, map[string]string{outer + "ann.py": "A", outer + "bob.py": "B"})
		if err := os.WriteFile(archive, []byte(packed), 0o644); err != nil {
			t.Fatal(err)
		}
		tree, err := problem.OpenTolerant(archive)
		if err != nil {
			t.Fatal(err)
		}
		if got := foundIn(t, finder, tree); len(got) != tt.want {
			t.Errorf("%d directories around a class: %.200q; want %d submissions", tt.around, got, tt.want)
		}
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	}
}
