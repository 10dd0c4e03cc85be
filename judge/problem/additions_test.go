package problem_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/judge/problem"
)

func opened(t *testing.T, files ...string) *problem.Tree {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
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

func TestAdditions(t *testing.T) {
	tree := opened(t, "a", "d/b")
	added, err := tree.Additions()
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"d/c", "e", "0"} {
		if err := added.Add(name, []byte("new "+name), name == "e"); err != nil {
			t.Fatal(err)
		}
	}

	with, err := added.With()
	if err != nil {
		t.Fatal(err)
	}
	defer with.Close()

	if want := []string{"0", "a", "d/b", "d/c", "e"}; !slices.Equal(with.Names(), want) || len(tree.Names()) != 2 {
		t.Errorf("%q, and before %q; want %q", with.Names(), tree.Names(), want)
	}

	for name, want := range map[string]string{"a": "a", "d/b": "d/b", "d/c": "new d/c", "0": "new 0"} {
		if got, err := with.Read(name, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}

	if with.Executable("0") || !with.Executable("e") {
		t.Error("an x bit was not kept, or came from nowhere")
	}
	if _, err := with.Read("e", 4); err == nil {
		t.Error("a file of 5 bytes was read where 4 may be")
	}
}

// What programs of a package make is added to nothing but its own names, and not without bound.
func TestAdditionsAreBounded(t *testing.T) {
	tree := opened(t, "a", "d/b")
	added, err := tree.Additions()
	if err != nil {
		t.Fatal(err)
	}
	defer added.Discard()

	for _, name := range []string{"a", "d/b", "../x", "/x", "", ".x", "d/.x", "d/../a"} {
		if err := added.Add(name, nil, false); err == nil {
			t.Errorf("%q was added", name)
		}
	}

	if err := added.Add("a/x", nil, false); err != nil {
		t.Fatal(err)
	}
	if _, err := added.With(); err == nil || !strings.Contains(err.Error(), "is a file and the directory of") {
		t.Errorf("a file in a file: %v", err)
	}

	large := opened(t, "a")
	if err := os.Truncate(filepath.Join(large.Label(), "a"), int64(problem.MaxBytes)-3); err != nil {
		t.Fatal(err)
	}
	if large, err = problem.Open(large.Label()); err != nil {
		t.Fatal(err)
	}
	defer large.Close()

	full, err := large.Additions()
	if err != nil {
		t.Fatal(err)
	}
	defer full.Discard()

	if err := full.Add("b", []byte("12"), false); err != nil {
		t.Fatal(err)
	}
	if err := full.Add("c", []byte("34"), false); err == nil || !strings.Contains(err.Error(), "more than 4G") {
		t.Errorf("%v", err)
	}
}
