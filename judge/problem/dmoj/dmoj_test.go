package dmoj

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"

	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

func read(t *problem.Tree) (*problem.Problem, error) {
	p, _, err := Read(t)
	return p, err
}

func TestPackages(t *testing.T) { problemtest.Packages(t, read, 16) }

// write makes a problem with these files, and a zip of the others.
func write(t *testing.T, files map[string]string, archive string, members map[string]string) *problem.Tree {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if archive != "" {
		f, err := os.Create(filepath.Join(dir, archive))
		if err != nil {
			t.Fatal(err)
		}

		z := zip.NewWriter(f)
		for name, text := range members {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}

		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}

	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { tree.Close() })
	return tree
}

// The files of the archive are read from it. The problem has one digest, with its archive packed or not.
func TestArchivesAreRead(t *testing.T) {
	init := "archive: x.zip\ntest_cases: [{in: 1.in, out: d/1.out}]\n"
	members := map[string]string{"1.in": "a\r\nb", "d/1.out": "c"}
	p, packed, err := Read(write(t, map[string]string{"init.yml": init}, "x.zip", members))
	if err != nil {
		t.Fatal(err)
	}
	if one := p.Tests[0]; one.Input != "x.zip/1.in" || one.Answer != "x.zip/d/1.out" || !one.Text {
		t.Errorf("the test is %+v", one)
	}

	text, err := packed.Read(p.Tests[0].Input, 100)
	if string(problem.UnixLines(text)) != "a\nb\n" || err != nil {
		t.Errorf("its input is %q, %v", text, err)
	}

	first, err := packed.Digest()
	if err != nil {
		t.Fatal(err)
	}

	again := write(t, map[string]string{"init.yml": init}, "", nil)
	if err := os.MkdirAll(filepath.Join(again.Label(), "x.zip", "d"), 0o755); err != nil {
		t.Fatal(err)
	}

	for name, text := range members {
		if err := os.WriteFile(filepath.Join(again.Label(), "x.zip", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	unpacked, err := problem.Open(again.Label())
	if err != nil {
		t.Fatal(err)
	}
	defer unpacked.Close()

	p2, unpacked, err := Read(unpacked)
	if err != nil || fmt.Sprint(p2.Tests) != fmt.Sprint(p.Tests) {
		t.Errorf("unpacked: %+v, %v; want %+v", p2.Tests, err, p.Tests)
	}
	if second, err := unpacked.Digest(); second != first || err != nil {
		t.Errorf("digests %s and %s, %v", first, second, err)
	}
}

// GRD-22: what strangers wrote is bounded, however short it is.
func TestHostileFilesAreBounded(t *testing.T) {
	aliases := "test_cases:\n- batched: &many\n" + strings.Repeat("  - {}\n", 4000) + strings.Repeat("- {batched: *many}\n", 10_000)
	names := map[string]string{}
	for i := range api.MaxTests + 1000 {
		names[fmt.Sprint(i, ".in")] = ""
	}

	long := map[string]string{}
	for i := range 1100 {
		long[fmt.Sprint(strings.Repeat("x", 200), "/", strings.Repeat("y", 200), "/", strings.Repeat("z", 200), "/", strings.Repeat("a", 200),
			"/", strings.Repeat("b", 200), i)] = ""
	}

	groups := "test_cases:\n"
	for i := range 1100 {
		groups += fmt.Sprintf("- {points: %d}\n", i%2+1)
	}

	batches := "test_cases:\n" + strings.Repeat("- batched: [{}]\n", 70) + "- batched: [{}]\n  dependencies: ["
	for i := range 70 {
		batches += fmt.Sprint(i+1, ", ")
	}

	for name, tt := range map[string]struct {
		init    string
		members map[string]string
		want    string
	}{
		"aliases":      {aliases, nil, fmt.Sprintf("there are more than %d test cases", api.MaxTests)},
		"groups":       {groups, nil, "are more than 1024 groups"},
		"dependencies": {batches + "]\n", nil, "depends on 70 batches that do not depend on each other"},
		"files":        {"archive: x.zip\n", names, fmt.Sprintf("input_format matches more than %d files", api.MaxTests)},
		"names":        {"archive: x.zip\n", long, "the names in the archive have more than 1048576 bytes"},
		"pattern":      {"archive: x.zip\ntest_cases: {input_format: '(?P<case>(a{1,30}){1,30})'}\n", names, "it is too large"},
		"repeated":     {"archive: x.zip\ntest_cases: {input_format: '((a{1,1000}){1,1000}){1,1000}'}\n", names, "invalid repeat count"},
		"depth":        {"test_cases: " + strings.Repeat("[", 200_000), nil, "this is not YAML"},
		"long":         {strings.Repeat("# x\n", 1<<20), nil, "the maximum is 1M"},
		"no archive":   {"archive: init.yml\n", nil, "is no archive that brig reads"},
		"outside":      {"archive: ../x.zip\n", nil, "must be the name of a file of the problem"},
	} {
		t.Run(name, func(t *testing.T) {
			archive := ""
			if tt.members != nil {
				archive = "x.zip"
			}
			if _, _, err := Read(write(t, map[string]string{"init.yml": tt.init}, archive, tt.members)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%.300v; want %s", err, tt.want)
			}
		})
	}
}

func TestWordsAreThoseOfAShell(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "  a  b ": {"a", "b"}, `'a b' "c d" e\ f`: {"a b", "c d", "e f"}, `a"b"'c'`: {"abc"}, `""`: {""},
		`"a\"b\c"`: {`a"b\c`}, `'\'`: {`\`},
	} {
		if got, err := words(text); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}

	for _, text := range []string{`"a`, `'`, `a\`} {
		if got, err := words(text); err == nil {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// The patterns that count if a file has none, on names of DMOJ's documentation.
func TestUsualPatterns(t *testing.T) {
	in, err := compile(defaultInput)
	if err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{
		"test.1.in": "- 1", "test-1.in": "- 1", "test-case-1.in": "- 1", "test-1-2.in": "1 2", "test-batch-1-case-2.in": "1 2", "1.2.in": "1 2",
		"problem-1-case-1-batch-2.in": "1 2", "1.in": "- 1", "in1.txt": "- 1", "1.out": "none", "readme": "none",
		"x.in": "none", "ruby.12.IN": "- 12",
	} {
		got := "none"
		if at := in.rest.FindStringSubmatchIndex(name); at != nil && in.ahead.MatchString(name) {
			id, _ := groupKey(in.rest, "case", name, at)
			got = "-"
			if batch, ok := groupKey(in.rest, "batch", name, at); ok {
				got = fmt.Sprint(batch.number)
			}
			got += fmt.Sprint(" ", id.number)
		}
		if got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
}
