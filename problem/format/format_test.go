package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/problem"
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
