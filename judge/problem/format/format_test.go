package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// A package next to other files is named, and not judged by its tests alone.
func TestPackagesBelow(t *testing.T) {
	for name, want := range map[string]string{
		"p/problem.xml":    "/p is a Polygon package, and other files are next to it",
		"a/b/problem.yaml": "/a/b is a Kattis package, and",
		"p/task.yaml":      "/p is a CMS task, and",
		"p/init.yml":       "",
		"q/task.yaml":      "",
	} {
		dir := t.TempDir()
		for _, file := range []string{name, "README", "p/input/1.txt", "p/output/1.txt"} {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}

		tree, err := problem.Open(dir)
		if err != nil {
			t.Fatal(err)
		}

		p, _, err := Read(tree)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", name, err)
		case want == "" && (err != nil || p.Format != "tests" || len(p.Tests) != 1):
			t.Errorf("%s: %+v, %v", name, p, err)
		}

		if err := tree.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A directory of tests says which of several answers it takes, once for all.
func TestSeveralAnswers(t *testing.T) {
	p, err := Tests(problemtest.Tree(t,
		map[string]string{"1.in": "", "1.ans": "", "1.out": "", "2.in": "", "2.out": "", "2.expected": "", "3.in": "", "3.out": ""}))
	if err != nil || len(p.Tests) != 3 || len(p.Warnings) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	const want = "1.ans is the expected output of 1.in, and 1.out is ignored; the same holds for 1 test more"
	if got := p.Warnings[0].String(); !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
}
