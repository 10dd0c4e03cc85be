package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/judge/problem"
)

// tree is a package of one test whose input is text.
func tree(t testing.TB, text string) (*problem.Problem, *problem.Tree) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"1.in": text, "1.ans": "answer\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	tree, err := problem.Open(dir)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { tree.Close() })
	return &problem.Problem{Format: "tests", Title: strings.Repeat("é", 100_000), Tests: []problem.Test{{ID: "1"}}}, tree
}

func put(t testing.TB, s Store, name, text string) (Entry, bool) {
	t.Helper()
	p, files := tree(t, text)
	e, changed, err := s.Put(t.Context(), name, p, files)
	if err != nil {
		t.Fatal(err)
	}
	return e, changed
}

// packages are the archives that a store has on the disk.
func packages(t testing.TB, s Store) int {
	t.Helper()
	files, err := os.ReadDir(s.path("packages"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestStoreKeepsPackagesByNameAndDigest(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "data", "problems")}
	if all, err := s.List(); len(all) != 0 || err != nil {
		t.Fatalf("a store that is not there: %v, %v", all, err)
	}

	a, changed := put(t, s, "sum", "1\n")
	if b, again := put(t, s, "sum", "1\n"); !changed || again || b != a {
		t.Errorf("stored twice: %v then %v, %+v then %+v", changed, again, a, b)
	}
	if a.Tests != 1 || a.Format != "tests" || a.Bytes == 0 || len(a.Title) > 500 {
		t.Errorf("the entry is %+v", a)
	}

	other, _ := put(t, s, "copy", "1\n")
	if other.Digest != a.Digest || packages(t, s) != 1 {
		t.Errorf("one package with two names: %s and %s, %d archives", a.Digest, other.Digest, packages(t, s))
	}

	b, changed := put(t, s, "sum", "2\n")
	if b.Digest == a.Digest || !changed || packages(t, s) != 2 {
		t.Errorf("a changed package: %+v, changed %v, %d archives", b, changed, packages(t, s))
	}

	for name, want := range map[string]string{"sum": "2\n", "copy": "1\n"} {
		files, _, err := s.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := files.Read("1.in", 100)
		if string(text) != want || err != nil || files.Label() != name {
			t.Errorf("%s has %q, %v, and the label %s; want %q", name, text, err, files.Label(), want)
		}
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	}

	if _, err := s.Remove("copy"); err != nil || packages(t, s) != 1 {
		t.Errorf("removed: %v, %d archives", err, packages(t, s))
	}

	for _, err := range []error{second(s.Remove("copy")), third(s.Open("copy"))} {
		if !errors.Is(err, ErrNone) || err.Error() != "copy: there is no such problem" {
			t.Errorf("a name that is not there: %v", err)
		}
	}

	if all, err := s.List(); len(all) != 1 || all[0] != b || err != nil {
		t.Errorf("it lists %+v, %v; want %+v", all, err, b)
	}
}

func second[A any](_ A, err error) error      { return err }
func third[A, B any](_ A, _ B, e error) error { return e }

func TestStoresAreBounded(t *testing.T) {
	s := Store{Dir: t.TempDir(), MaxNames: 2}
	put(t, s, "a", "1\n")
	put(t, s, "b", "2\n")
	refused := func(name, want string) {
		t.Helper()
		p, files := tree(t, "3\n")
		var full *FullError
		if _, _, err := s.Put(t.Context(), name, p, files); !errors.As(err, &full) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", name, err, want)
		}
		if all, err := s.List(); len(all) != 2 || packages(t, s) != 2 || err != nil {
			t.Errorf("after a refusal: %+v, %d archives, %v", all, packages(t, s), err)
		}
	}

	refused("c", "has 2 problems, which is its limit")
	put(t, s, "b", "4\n") // a name that is there already
	s.MaxNames, s.MaxBytes = 0, 600
	refused("c", "and its limit is 600: remove problems that are not needed")
	p, files := tree(t, "3\n")
	for _, name := range []string{"", "../x", ".hidden", "a/b", "a b", strings.Repeat("x", 101), "ä"} {
		if _, _, err := s.Put(t.Context(), name, p, files); err == nil || !strings.Contains(err.Error(), "of a problem: use 1 to 100 letters") {
			t.Errorf("the name %q: %v", name, err)
		}
		if _, _, err := s.Open(name); err == nil {
			t.Errorf("opened %q", name)
		}
	}

	if err := os.WriteFile(s.path("names", "a.json"), []byte(`{"name":"a","digest":"../../x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open("a"); err == nil || !strings.Contains(err.Error(), "a.json is damaged") {
		t.Errorf("a damaged entry: %v", err)
	}
}

// GRD-23: a process that stores packages in turns is killed at any moment: each name has a whole package, and the
// next writer removes what was left.
func TestInterruptedWritersChangeNothing(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "problems")}
	before, _ := put(t, s, "sum", "1\n")
	p, files := tree(t, "2\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if _, _, err := s.Put(ctx, "sum", p, files); !errors.Is(err, why) {
		t.Errorf("%v, want the cause", err)
	}
	if e, err := s.Entry("sum"); err != nil || e != before || packages(t, s) != 1 {
		t.Errorf("%+v, %v, %d packages; want what was there", e, err, packages(t, s))
	}
}

func TestKilledWritersLeaveAWholeStore(t *testing.T) {
	if dir := os.Getenv("BRIG_STORE_TEST_DIR"); dir != "" {
		fmt.Println("begun")
		for i := 0; ; i++ {
			put(t, Store{Dir: dir}, fmt.Sprint("p", i%3), strings.Repeat(fmt.Sprintln(i%7), 200_000))
		}
	}

	s := Store{Dir: t.TempDir()}
	killed, stored := 0, 0
	for i := 0; i < 25 || stored == 0 && i < 200; i++ { // on a busy host none of the first may have written anything
		k := exec.Command(os.Args[0], "-test.run", "^TestKilledWritersLeaveAWholeStore$")
		k.Env = append(os.Environ(), "BRIG_STORE_TEST_DIR="+s.Dir, "TMPDIR="+t.TempDir())
		out, err := k.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // on a busy host that takes longer than what follows
			t.Fatal(err)
		}

		time.Sleep(time.Duration(10+7*i) * time.Millisecond)
		if err := k.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := k.Wait(); k.ProcessState.ExitCode() == -1 {
			killed++
		} else {
			t.Fatalf("it ended by itself: %v", err)
		}

		all, err := s.List()
		if err != nil {
			t.Fatal(err)
		}

		stored = len(all)
		for _, e := range all {
			files, _, err := s.Open(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			if digest, err := files.Digest(); digest != e.Digest || err != nil {
				t.Errorf("%s has digest %s, %v; want %s", e.Name, digest, err, e.Digest)
			}
			if err := files.Close(); err != nil {
				t.Error(err)
			}
		}
	}

	put(t, s, "last", "1\n")
	all, err := s.List()
	if err != nil || len(all) < 2 || killed < 25 {
		t.Errorf("%d problems after %d killed writers, %v", len(all), killed, err)
	}

	digests := map[string]bool{}
	for _, e := range all {
		digests[e.Digest] = true
	}

	names, err := os.ReadDir(s.path("names"))
	if packages(t, s) != len(digests) || len(names) != len(all) || err != nil {
		t.Errorf("%d archives of %d packages, %d files of %d names, %v", packages(t, s), len(digests), len(names), len(all), err)
	}
}
