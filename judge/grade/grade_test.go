package grade

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

var finder = Finder{
	IsSource: func(name string, text func() []byte) bool {
		return strings.Contains(".py .c .cpp .java .go", orNone(path.Ext(name))) || bytes.HasPrefix(text(), []byte("#!"))
	},
	Ignore: func(base string) bool { return base == "README" },
}

func orNone(ext string) string {
	if ext == "" {
		return "none"
	}
	return ext
}

func zipped(t *testing.T, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range files {
		h := &zip.FileHeader{Name: name}
		target, link := strings.CutPrefix(text, "-> ")
		if link {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(target)); err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// writeFiles writes files below a new directory. A text that begins with "-> " is a link, here and in zipped.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if target, link := strings.CutPrefix(text, "-> "); link {
			err = errors.Join(err, os.Symlink(target, name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// shown is a submission in one line.
func shown(s Submission) string {
	var files []string
	for _, f := range s.Files {
		files = append(files, f.Name)
	}
	if s.Err != nil {
		return fmt.Sprintf("%s: %v", s.Name, s.Err)
	}
	return fmt.Sprintf("%s: %s %s %v", s.Name, s.Main, s.Text, files)
}

// What people hand in, as files, directories and archives, is found.
func TestSubmissionsAreFound(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"ann.py": "A", "bob.cpp": "B", "bob.py": "B2", "cy/hw.py": "C", "cy/data.txt": "D", "dan/x/proj/main.py": "M", "dan/x/proj/util.py": "U",
		"dan/x/proj/sub/v.py": "V",
		"eve/a.c":             "int f() {}", "eve/b.c": "int main() {}", "eve/b.h": "H", "fay/1.py": "1", "fay/2.py": "2", "gil/notes.txt": "",
		"hal.txt": "?", "ida": "#!/usr/bin/python3", "README": "",
		"jon_assignsubmission_file_/hw.zip": zipped(t, map[string]string{"hw/solution.py": "J", "hw/in.txt": "K"}),
		"kim.zip":                           zipped(t, map[string]string{"Main.java": "L"}), "lea.zip": "PK\x03\x04 no archive",
		"mia/src/main.py": "M1", "mia/data/x.txt": "M2",
	})

	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	all, err := finder.In(tree)
	if err != nil {
		t.Fatal(err)
	}

	SetNames(all)
	want := []string{
		"ann: ann.py A []", "bob.cpp: bob.cpp B []", "bob.py: bob.py B2 []", "cy: hw.py C [data.txt]", "dan: main.py M [sub/v.py util.py]",
		"eve: b.c int main() {} [a.c b.h]",
		"fay: it has 2 sources (1.py, 2.py), and nothing says which is the program: call it main, or name it with --source-name",
		"gil: nothing was handed in: no file in it has a name that says its language (notes.txt): add --language, or " +
			"leave it out with --ignore",
		"hal: hal.txt: its name does not say its language: add --language, or leave it out with --ignore",
		"ida: ida #!/usr/bin/python3 []", "jon: solution.py J [in.txt]", "kim: Main.java L []",
		"lea: lea.zip: the archive is incomplete, its end is missing: copy or download it again, or make it again",
		"mia: main.py M1 [data/x.txt]",
	}

	for i, s := range all {
		if got := shown(s); i >= len(want) || got != want[i] {
			t.Errorf("%s", got)
		}
	}

	if len(all) != len(want) {
		t.Errorf("%d submissions; want %d", len(all), len(want))
	}
}

// GRD-11: a link to the work of another person is no submission, in a directory or an archive.
func TestLinksHandInNothing(t *testing.T) {
	files := map[string]string{"ann/sol.py": "-> ../bob/sol.py", "cy/src": "-> ../bob", "dan.py": "-> bob/sol.py", "bob/sol.py": "B",
		"bob/README": "-> sol.py"}
	fromDir, err := problem.Open(writeFiles(t, files))
	if err != nil {
		t.Fatal(err)
	}
	defer fromDir.Close()

	fromZip, err := problem.OpenZip("all.zip", []byte(zipped(t, files)))
	if err != nil {
		t.Fatal(err)
	}

	const why = " is a link, which may lead to the files of another person: put the file itself there, or leave it out with --ignore"
	want := []string{"ann: ann/sol.py" + why, "bob: sol.py B []", "cy: cy/src/sol.py" + why, "dan: dan.py" + why}
	for _, tree := range []*problem.Tree{fromDir, fromZip} {
		all, err := finder.In(tree)
		if err != nil {
			t.Fatal(err)
		}
		SetNames(all)
		var got []string
		for _, s := range all {
			got = append(got, shown(s))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q; want %q", tree.Label(), got, want)
		}
	}
}

// One person's files do not fill the memory of the teacher's machine.
func TestSubmissionsAreBounded(t *testing.T) {
	if s := finder.File("a.py", make([]byte, maxFile+1)); s.Err == nil || !strings.Contains(s.Err.Error(), "the maximum is 16M") {
		t.Errorf("a large file: %v", s.Err)
	}

	files := map[string]string{"main.py": ""}
	for i := range 3 {
		files[fmt.Sprintf("%d.dat", i)] = strings.Repeat("x", maxFile-100)
	}

	if s := finder.File("big.zip", []byte(zipped(t, files))); s.Err == nil ||
		!strings.Contains(s.Err.Error(), "the maximum is") || s.Files != nil {
		t.Errorf("large files: %v", s.Err)
	}
	if s := finder.File("a.unknown", []byte("x")); s.Err == nil || s.Text != nil {
		t.Errorf("a file that cannot be judged keeps %d bytes: %v", len(s.Text), s.Err)
	}

	dir := t.TempDir()
	for i := range maxTotal/problem.MaxArchive + 1 {
		name := filepath.Join(dir, fmt.Sprintf("%d.py", i))
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, problem.MaxArchive)); err != nil {
			t.Fatal(err)
		}
	}

	tree, err := problem.OpenTolerant(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	if all, err := finder.In(tree); err == nil || !strings.Contains(err.Error(), "the maximum is 4G") {
		t.Errorf("sparse files: %d submissions, %v", len(all), err)
	}
}

func test(id string, v api.Verdict, a api.Answer, difference string) api.TestResult {
	return api.TestResult{ID: id, Answer: a, Difference: difference, Result: api.Result{Verdict: v, ExitCode: 1}}
}

func report() Report {
	judged := func(id, why string, tests ...api.TestResult) Row {
		sum := api.Summarize(3, tests)
		r := Judged(id, api.Result{Verdict: sum.Verdict, Tests: tests, Summary: &sum})
		r.Why, r.Language = why, "python"
		return r
	}

	broken := Judged("cy", api.Result{Verdict: api.CompileError, Stderr: api.Bytes("\x1b[31m no\x00"), Summary: &api.Summary{Tests: 3}})
	broken.Why = "cy.py:1: SyntaxError"
	return Report{Problem: "hw3 <1>", Tests: []string{"1", "2", "10"}, Submissions: []Row{
		judged("ann", "", test("1", api.OK, api.Accepted, ""), test("2", api.OK, api.Accepted, ""), test("10", api.OK, api.Accepted, "")),
		judged("=bob()", `line 1: expected "<3>"`, test("1", api.OK, api.Accepted, ""),
			test("2", api.OK, api.WrongAnswer, `line 1: expected "<3>"`), test("10", api.CPULimit, "", "")),
		broken,
		judged("dan", "exit code 1", test("1", api.Nonzero, "", "")),
		NotJudged("<script>alert(1)</script>", Refused, api.Refuse(api.CodeNoLanguage, "no language")),
	}}
}

func TestTable(t *testing.T) {
	for width, want := range map[int]string{
		0: `NAME                       RESULT      1   2   10   POINTS  FIRST FAILURE
ann                        AC          AC  AC  AC      100
=bob()                     WA          AC  WA  TLE   33.33  2: line 1: expected "<3>"
cy                         CE                            0  cy.py:1: SyntaxError
dan                        RE          RE                0  1: exit code 1
<script>alert(1)</script>  not judged                       no language
5 submissions, 3 tests: 1 accepted, 3 not; 1 not judged
`,
		50: `NAME                       RESULT      TESTS              POINTS  FIRST FAILURE
ann                        AC          3 AC                  100
=bob()                     WA          1 AC, 1 WA, 1 TLE   33.33  2: line 1: expected "<3>"
cy                         CE                                  0  cy.py:1: SyntaxError
dan                        RE          1 RE                    0  1: exit code 1
<script>alert(1)</script>  not judged                             no language
5 submissions, 3 tests: 1 accepted, 3 not; 1 not judged
`} {
		var out strings.Builder
		if err := report().WriteTable(&out, Table{Width: width, Escape: same}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("it is\n%s\nwant\n%s", out.String(), want)
		}
	}

	var out strings.Builder
	if err := report().WriteTable(&out, Table{Words: Brig, Escape: same}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "=bob()                     wrong-answer   accepted  wrong-answer  cpu-limit   33.33  2: line 1") {
		t.Errorf("with brig's words:\n%s", out.String())
	}
}

func same(s string) string { return s }

// A spreadsheet takes a cell that begins with one of these characters for a formula, and a submission
// chooses its name.
func TestSpreadsheetsExecuteNothing(t *testing.T) {
	var out bytes.Buffer
	if err := report().WriteCSV(&out, Judge); err != nil {
		t.Fatal(err)
	}

	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 6 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if got, want := strings.Join(lines[0], "|"),
		"name|status|result|points|max_points|language|first_failed|why|test 1|test 2|test 10"; got != want {
		t.Errorf("the head is %s", got)
	}
	if got, want := strings.Join(lines[2], "|"), `'=bob()|done|WA|33.33|100|python|2|line 1: expected "<3>"|AC|WA|TLE`; got != want {
		t.Errorf("bob is\n%s; want\n%s", got, want)
	}

	for _, s := range []string{"=1", "+1", "-1", "@a", "\t=1", "\r=1", "＝1", "＋1", "－1", "＠a"} {
		if !strings.HasPrefix(plainCell(s), "'") {
			t.Errorf("%q is written as %q", s, plainCell(s))
		}
	}

	if got, want := plainCell("\x1b]0;x\x07\u009b2Ja\n=1"), "\ufffd]0;x\ufffd\ufffd2Ja\n'=1"; got != want {
		t.Errorf("what a terminal executes is written as %q, want %q", got, want)
	}

	for _, s := range []string{"", "-", "a=1", "33.33", "a－b"} {
		if plainCell(s) != s {
			t.Errorf("%q is written as %q", s, plainCell(s))
		}
	}
}

// What separates cells for a spreadsheet of any country is in a quoted cell, and begins no formula where quotes do not
// count, as in the middle of a cell.
func TestSpreadsheetsOfAllCountries(t *testing.T) {
	r := Report{Submissions: []Row{NotJudged("x;=1+1;", Refused,
		api.Refuse(api.CodeBadRequest, "%s", "a;=cmd|' /C calc'!A0\t@SUM(1)\n;\"+2"))}}
	var out strings.Builder
	if err := r.WriteCSV(&out, Judge); err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(out.String(), "\n")
	if want := "\"x;'=1+1;\",refused,not judged,,,,,\"a;'=cmd|' /C calc'!A0\t'@SUM(1)\n;'\"\"+2\"\n"; line != want {
		t.Errorf("it is %q; want %q", line, want)
	}
}

// Columns are as wide as a terminal shows them, outcomes have colors, and the last column does not break a line.
func TestTablesOnTerminals(t *testing.T) {
	one := func(id, why string, v api.Verdict) Row {
		tests := []api.TestResult{test("1", v, "", "")}
		sum := api.Summarize(1, tests)
		r := Judged(id, api.Result{Verdict: v, Tests: tests, Summary: &sum})
		r.Why = why
		return r
	}

	r := Report{Tests: []string{"1"}, Submissions: []Row{
		one("Guo 王伟", "", api.OK), one("Zoe\u0308", strings.Repeat("王", 40), api.Nonzero),
		NotJudged("e", Missing, api.Refuse(api.CodeBadRequest, "no file")),
	}}
	var out strings.Builder
	if err := r.WriteTable(&out, Table{Width: 70, Color: true, Escape: same}); err != nil {
		t.Fatal(err)
	}

	want := "NAME      RESULT         1   POINTS  FIRST FAILURE\n" +
		"Guo 王伟  \x1b[32mAC\x1b[m             \x1b[32mAC\x1b[m     100\n" +
		"Zoe\u0308       \x1b[31mRE\x1b[m             \x1b[31mRE\x1b[m       0  1: " + strings.Repeat("王", 14) + "…\n" +
		"e         \x1b[33mnot handed in\x1b[m              no file\n" +
		"3 submissions, 1 test: 1 accepted, 1 not; 1 not handed in\n"
	if out.String() != want {
		t.Errorf("it is\n%s\nwant\n%s", out.String(), want)
	}
}

// A name or an output of a submission is text in the page, and never markup.
func TestPageEscapesNames(t *testing.T) {
	var out strings.Builder
	if err := report().WriteHTML(&out, Judge); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "<td class=\"bad\" title=\"2\">WA</td>",
		"expected &#34;&lt;3&gt;&#34;", `<tr class="open">`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}

	if strings.Contains(out.String(), "<script") {
		t.Error("the page has a script")
	}
}

func TestJUnit(t *testing.T) {
	var out bytes.Buffer
	if err := report().WriteJUnit(&out); err != nil {
		t.Fatal(err)
	}

	var got junitSuites
	if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	if got.Tests != 11 || got.Failures != 4 || got.Errors != 1 || len(got.Suites) != 5 {
		t.Errorf("%d tests, %d failures, %d errors, %d suites", got.Tests, got.Failures, got.Errors, len(got.Suites))
	}
	if bob := got.Suites[1]; bob.Cases[1].Failure == nil || bob.Cases[1].Failure.Type != "WA" || bob.Cases[0].Failure != nil ||
		bob.Cases[2].Failure.Message != "cpu-limit" {
		t.Errorf("bob is %+v", bob)
	}
	if dan := got.Suites[3]; dan.Skipped != 2 || dan.Cases[0].Failure.Message != "exit code 1" {
		t.Errorf("dan is %+v", dan)
	}
}

// A submission that was not judged has no score: it is not zero.
func TestOnlyJudgedSubmissionsHavePoints(t *testing.T) {
	r := report()
	for _, row := range r.Submissions {
		if (row.Score != nil) != (row.Status == Done) || (row.Points != nil) != (row.Status == Done) {
			t.Errorf("%s: status %s, score %v", row.ID, row.Status, row.Score)
		}
	}

	if r.AllJudged() {
		t.Error("one was not judged")
	}

	r.Replace(Row{ID: "<script>alert(1)</script>", Status: Done})
	if len(r.Submissions) != 5 || !r.AllJudged() {
		t.Error("the row is not replaced")
	}
	if got := Judged("x", api.Result{Verdict: api.Canceled, Summary: &api.Summary{Tests: 1}}); got.Status != Canceled || got.Score != nil {
		t.Errorf("a canceled run: %+v", got)
	}
}

// Whoever can name a folder in the class takes the row of nobody else: both have the names of what was handed in.
func TestAFolderTakesNoName(t *testing.T) {
	tree, err := problem.Open(writeFiles(t, map[string]string{"ann.py": "A", "ann/main.py": "B", "bob/main.py": "C"}))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	all, err := finder.In(tree)
	if err != nil {
		t.Fatal(err)
	}
	SetNames(all)
	var got []string
	for _, s := range all {
		got = append(got, s.Name)
	}
	if want := []string{"ann.py", "ann/", "bob"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("%q; want %q", got, want)
	}
}
