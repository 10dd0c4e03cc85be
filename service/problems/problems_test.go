package problems

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
)

const head = "problem_format_version: 2025-09\nname: X\nuuid: 0c1bd2e4-0000-4000-8000-000000000001\n"

// large is the input of a test that goes to the agent as a blob.
var large = strings.Repeat("a long line\n", 8<<10)

// full is a package with all that a run needs.
var full = map[string]string{
	"problem.yaml": head + "type: scoring\nlimits: {time_limit: 2, memory: 64, code: 1}\nconstants: {n: 7}\n" +
		"languages: [python3, cpp]\n",
	"data/sample/1.in": "", "data/sample/1.ans": "",
	"data/secret/test_group.yaml": "output_validator_args: [x]\n",
	"data/secret/g/1.in":          large, "data/secret/g/1.ans": "\x00\xff", "data/secret/g/2.in": "two", "data/secret/g/2.ans": large + "!",
	"data/secret/g/1.yaml":        "args: [-v]\n",
	"data/secret/g/2.files/b.txt": large + "?", "data/secret/g/2.files/d/a.txt": "w\xff", "data/secret/g/2.files/empty.txt": "",
	"output_validator/__main__.py": "n = {{n}}", "output_validator/helper.py": "{{n}}",
	"include/python3/lib.py": "L{{n}}", "include/default/other.txt": "o",
	"submissions/accepted/a.py": "",
}

// packed is a zip of files, as an open file.
func packed(t *testing.T, files map[string]string) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}

	z := zip.NewWriter(f)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

func anything(Usage, Usage, int64) error { return nil }

// put stores a package.
func put(t *testing.T, s *Store, owner, name string, files map[string]string) *Stored {
	t.Helper()
	d, err := s.Begin(owner, name, anything)
	if err != nil {
		t.Fatal(err)
	}

	p, err := Read(name, packed(t, files), d.Out)
	if err != nil {
		t.Fatal(err)
	}

	stored, err := d.Commit(p, 1234)
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { stored.Close() })
	return stored
}

func opened(t *testing.T, dir string) *Store {
	t.Helper()
	s, damaged, err := Open(dir)
	if err != nil || len(damaged) > 0 {
		t.Fatal(err, damaged)
	}
	return s
}

// The run that a stored package makes is the one that brig grade makes of it: whatever the contents of
// its tests are, and with what the request says in place of the package's.
func TestTheRunIsThatOfBrigGrade(t *testing.T) {
	stored := put(t, opened(t, t.TempDir()), "ann", "sum", full)
	tree, err := problem.OpenFile("sum", packed(t, full), size(t, full))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()

	about, root, err := format.Read(tree)
	if err != nil {
		t.Fatal(err)
	}

	loader := grade.Loader{Problem: about, Tree: root, Put: func(file string, content []byte) (string, error) {
		p, err := stored.Problem()
		if err != nil {
			return "", err
		}

		i := slices.IndexFunc(p.Blobs(), func(b Blob) bool { return b.File == file })
		in, err := stored.Blob(p.Blobs()[i])
		if err != nil {
			return "", err
		}
		defer in.Close()

		var text bytes.Buffer
		if _, err := text.ReadFrom(in); err != nil || text.String() != string(content) {
			t.Errorf("the blob of %s has %d bytes, %v", file, text.Len(), err)
		}
		return p.Blobs()[i].Digest, nil
	}}

	common, err := loader.Common()
	if err != nil {
		t.Fatal(err)
	}

	for _, ask := range []api.Run{
		{Language: "python", Source: api.Bytes("x"), Files: []api.File{{Name: "lib.py"}, {Name: "own", Content: api.Bytes("o")}}},
		{Language: "cpp", Source: api.Bytes("x"), Limits: api.Limits{CPU: 5e9}, Flags: []string{"-O0"}, Collect: api.Collect{Files: 1}},
	} {
		want := ask
		grade.Apply(&want, common, about.Limits.Time, api.Limits{})
		if want.Files, err = loader.Included(ask.Language, ask.Files); err != nil {
			t.Fatal(err)
		}
		if len(want.Flags) == 0 {
			want.Flags = loader.Flags(ask.Language)
		}
		if want.Collect.IsZero() {
			want.Collect.None = true
		}

		p, err := stored.Problem()
		if err != nil {
			t.Fatal(err)
		}

		got, err := p.Run(ask, ask.Language, api.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := text(t, got), text(t, want); a != b {
			t.Errorf("%s: the run is\n%.2000s\nwant\n%.2000s", ask.Language, a, b)
		}
		if len(p.Blobs()) != 3 || got.Tests[0].Expected == nil || got.Validate() != nil {
			t.Errorf("%d blobs, an expected output %v, %v", len(p.Blobs()), got.Tests[0].Expected, got.Validate())
		}
	}

	p, err := stored.Problem()
	if err != nil {
		t.Fatal(err)
	}

	for why, ask := range map[string]api.Run{
		"does not take java":  {Language: "java", Source: api.Bytes("x")},
		"takes 1K":            {Language: "python", Source: make(api.Bytes, 1025)},
		"files has a blob":    {Language: "python", Source: api.Bytes("x"), Files: []api.File{{Name: "f", Blob: strings.Repeat("a", 64)}}},
		"1.1K of source: the": {Language: "python", Source: api.Bytes("x"), Files: []api.File{{Name: "f", Content: make(api.Bytes, 1100)}}},
	} {
		if _, err := p.Run(ask, ask.Language, api.Limits{}); !api.HasCode(err, api.CodeBadRequest) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func size(t *testing.T, files map[string]string) int64 {
	t.Helper()
	info, err := packed(t, files).Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Without a time limit in the package the request must have one: the limit of the agent would judge
// otherwise than the jury.
func TestATimeLimitIsNeeded(t *testing.T) {
	s := opened(t, t.TempDir())
	files := map[string]string{"problem.yaml": head, "data/secret/1.in": "", "data/secret/1.ans": "", "submissions/accepted/a.py": ""}
	p, err := put(t, s, "", "timeless", files).Problem()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(api.Run{Language: "python"}, "python", api.Limits{}); !api.HasCode(err, api.CodeBadLimits) {
		t.Error(err)
	}
	if r, err := p.Run(api.Run{Language: "python", Limits: api.Limits{CPU: 3e9}}, "python", api.Limits{}); err != nil || r.Limits.CPU != 3e9 {
		t.Errorf("%+v, %v", r.Limits, err)
	}
	if p, err = put(t, s, "", "tests", map[string]string{"1.in": "", "1.out": ""}).Problem(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(api.Run{Language: "python"}, "python", api.Limits{}); err != nil {
		t.Errorf("tests alone: %v", err)
	}
}

// A package that is wrong gives an error that says all that is wrong with it, and is not stored.
func TestAWrongPackageSaysWhy(t *testing.T) {
	s := opened(t, t.TempDir())
	link := "data/secret/1.in"
	for why, files := range map[string]map[string]string{
		"problem.yaml:4: unknown key \"lmits\" (Problem metadata)": {"problem.yaml": head + "lmits: 1\n", "data/secret/1.in": "",
			"data/secret/1.ans": "", "submissions/accepted/a.py": ""},
		"bad: there are no tests":                   {"README": ""},
		link + " has no answer":                     {link: ""},
		"16385 tests: the most of one run is 16384": many(api.MaxTests + 1),
	} {
		d, err := s.Begin("ann", "bad", anything)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read("bad", packed(t, files), d.Out); !api.HasCode(err, api.CodeBadProblem) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}

	d, err := s.Begin("ann", "bad", anything)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	if _, err := d.Archive.WriteString("no archive"); err != nil {
		t.Fatal(err)
	}
	if _, err := Read("bad", d.Archive, d.Out); !api.HasCode(err, api.CodeBadProblem) {
		t.Error(err)
	}
	if list := s.List("ann"); len(list) != 0 {
		t.Errorf("stored: %+v", list)
	}
}

func many(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("data/%05d", i)
		files[name+".in"], files[name+".ans"] = "", ""
	}
	return files
}

// Packages outlive the process; each belongs to one owner. What is replaced or removed stays for those
// that have it open.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	old := put(t, s, "ann", "sum", full)
	tests := map[string]string{"1.in": "a", "1.out": "b"}
	put(t, s, "ann", "other", tests)
	put(t, s, "bob", "sum", tests)
	put(t, s, "", "sum", tests)
	if err := os.WriteFile(filepath.Join(dir, "new-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	s = opened(t, dir) // after a kill
	if list := s.List("ann"); len(list) != 2 || list[0].Name != "other" || list[1].Digest != old.About().Digest || list[1].Tests != 3 ||
		list[1].Title != "X" || !list[1].Scoring || list[1].Bytes != old.About().Bytes {
		t.Errorf("ann has %+v", list)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "new-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}

	for _, ref := range []string{"sum", old.About().Digest} {
		p, err := s.Find("ann", ref)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := p.Manifest()
		if err := errors.Join(err, p.Close()); err != nil || !strings.Contains(string(manifest), `"kattis 2025-09"`) || p.Memory() != 1234 {
			t.Errorf("%s is %.100s, %d, %v", ref, manifest, p.Memory(), err)
		}
	}

	for owner, ref := range map[string]string{"bob": "other", "": old.About().Digest, "cy": "sum", "ann": "nothing"} {
		if _, err := s.Find(owner, ref); !api.HasCode(err, api.CodeNoProblem) {
			t.Errorf("%s finds %s: %v", owner, ref, err)
		}
	}

	for _, name := range []string{"", "../x", "a:b", ".x", "a/b", strings.Repeat("x", 101), "ä"} {
		_, err := s.Find("ann", name)
		if _, berr := s.Begin("ann", name, anything); !api.HasCode(err, api.CodeBadRequest) || !api.HasCode(berr, api.CodeBadRequest) ||
			!api.HasCode(s.Remove("ann", name), api.CodeBadRequest) {
			t.Errorf("%q: %v, %v", name, err, berr)
		}
	}

	put(t, s, "ann", "sum", tests)
	if err := s.Remove("ann", "sum"); err != nil {
		t.Error(err)
	}
	if err := s.Remove("ann", "sum"); !api.HasCode(err, api.CodeNoProblem) {
		t.Error(err)
	}
	if p, err := old.Problem(); err != nil || len(p.Blobs()) != 3 {
		t.Errorf("the open one: %v", err)
	}
	if len(s.List("bob")) != 1 || len(opened(t, dir).List("ann")) != 1 {
		t.Errorf("left: %+v, %+v", s.List("bob"), s.List("ann"))
	}
}

// A file that was cut or changed is reported, and no other is lost with it.
func TestADamagedFileIsReported(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	tests := map[string]string{"1.in": "a", "1.out": "b"}
	put(t, s, "ann", "good", tests)
	put(t, s, "ann", "cut", tests)
	if err := os.Truncate(s.path("ann", "cut"), 100); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path("ann", "none"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	s, damaged, err := Open(dir)
	if err != nil || len(damaged) != 2 || len(s.List("ann")) != 1 {
		t.Fatalf("%v, %v, %+v", err, damaged, s.List("ann"))
	}
	if _, err := s.Find("ann", "cut"); !api.HasCode(err, api.CodeInternal) {
		t.Error(err)
	}

	put(t, s, "ann", "cut", tests)
	if len(s.List("ann")) != 2 {
		t.Errorf("put again: %+v", s.List("ann"))
	}
}

// Space is reserved while packages are on their way, and a package does not count against the one that
// replaces it.
func TestSpaceIsReserved(t *testing.T) {
	s := opened(t, t.TempDir())
	stored := put(t, s, "ann", "sum", full).About().Bytes
	maximum := stored + 100
	allow := func(own, all Usage, more int64) error {
		if own.Bytes+more > maximum || own.Number > 1 {
			return api.Refuse(api.CodeAboveCeiling, "%d and %d", own.Bytes, more)
		}
		return nil
	}

	again, err := s.Begin("ann", "sum", allow)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Reserve(maximum); err != nil {
		t.Error(err)
	}
	if _, err := s.Begin("ann", "other", allow); !api.HasCode(err, api.CodeAboveCeiling) {
		t.Errorf("next to a draft: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}

	other, err := s.Begin("ann", "other", allow)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Reserve(100); err != nil {
		t.Error(err)
	}
	if err := other.Reserve(101); !api.HasCode(err, api.CodeAboveCeiling) {
		t.Error(err)
	}

	p, err := Read("other", packed(t, full), other.Out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Commit(p, 0); !api.HasCode(err, api.CodeAboveCeiling) {
		t.Errorf("what was read is larger: %v", err)
	}
	if err := other.Close(); err != nil || len(s.drafts) != 0 || len(s.List("ann")) != 1 {
		t.Errorf("%v; %d drafts, %+v", err, len(s.drafts), s.List("ann"))
	}
}
