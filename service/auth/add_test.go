package auth

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func noToken(string) error { return nil }

// If the token of a key could not be passed on, the key is not added, and no file is created for
// it.
func TestAKeyWhoseTokenIsLostIsNotAdded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	lost := func(string) error { return syscall.ENOSPC }
	if made, err := AddKey(path, -1, Key{Name: "new"}, lost); made || !errors.Is(err, syscall.ENOSPC) {
		t.Error(made, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was made: %v", err)
	}
	if _, err := AddKey(path, -1, Key{Name: "old"}, noToken); err != nil {
		t.Fatal(err)
	}

	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AddKey(path, -1, Key{Name: "new"}, lost); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("%v, the file is %q; want %q", err, after, before)
	}
}

// The file is readable by its group and by no others, and keys are appended to it.
func TestAddKeyMakesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "etc/keys.yaml")
	var first, second string
	made, err := AddKey(path, os.Getegid(), Key{Name: "teacher", Admin: true}, func(token string) error { first = token; return nil })
	if err != nil || !made {
		t.Fatal(made, err)
	}

	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode() != 0o640 || st.Sys().(*syscall.Stat_t).Gid != uint32(os.Getegid()) {
		t.Errorf("mode %v, group %d", st.Mode(), st.Sys().(*syscall.Stat_t).Gid)
	}

	made, err = AddKey(path, os.Getegid(), Key{Name: "judge", Runs: 2}, func(token string) error { second = token; return nil })
	if err != nil || made {
		t.Fatal(made, err)
	}

	keys, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()

	for token, want := range map[string]Key{first: {Name: "teacher", Admin: true}, second: {Name: "judge", Runs: 2}} {
		got, ok := keys.Find(token)
		if !ok || got.Name != want.Name || got.Admin != want.Admin || got.Runs != want.Runs {
			t.Errorf("the key of %s is %+v, %v", want.Name, got, ok)
		}
	}

	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("next to it lie %v, %v", left, err)
	}
}

// A key is appended to an existing file only if the result is a valid keys file.
func TestAddKeyTouchesNothingElse(t *testing.T) {
	_, line, err := NewKey(Key{Name: "old"})
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		want       string // empty: it is added
	}{
		{"a list without keys", "keys:\n", 0o640, ""},
		{"no line feed at the end", "keys:\n" + line, 0o640, ""},
		{"comments", "# ours\nkeys:\n" + line + "\n# the end\n", 0o640, ""},
		{"the name is there", "keys:\n" + strings.ReplaceAll(line, "old", "new") + "\n", 0o640, `already has a key "new"`},
		{"an empty list", "keys: []\n", 0o640, "does not end with its list"},
		{"an empty file", "", 0o640, ""},
		{"comments alone", "# ours\n", 0o640, "no line keys:"},
		{"something else", "listen: 1\n", 0o640, "listen"},
		{"for all to read", "keys:\n" + line + "\n", 0o644, "chmod 640 it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.yaml")
			if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
				t.Fatal(err)
			}

			_, err := AddKey(path, -1, Key{Name: "new"}, noToken)
			now, rerr := os.ReadFile(path)
			switch {
			case rerr != nil:
				t.Fatal(rerr)
			case tt.want == "" && (err != nil || !strings.HasPrefix(string(now), tt.text) || strings.Count(string(now), "name: new") != 1):
				t.Errorf("%v, and it is\n%s", err, now)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || string(now) != tt.text):
				t.Errorf("%v; want %q, and it as it was:\n%s", err, tt.want, now)
			}
		})
	}

	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	if _, err := AddKey(link, -1, Key{Name: "new"}, noToken); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("through a link: %v", err)
	}
}

// Several concurrent calls lose no key, and the file is never incomplete.
func TestAddKeyConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := AddKey(path, -1, Key{Name: fmt.Sprintf("k%d", i)}, noToken); err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	keys, err := ReadKeys(path)
	if err != nil || len(keys.List()) != 16 {
		t.Fatalf("%v: %+v", err, keys)
	}

	keys.Close()
}
