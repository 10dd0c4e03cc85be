package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	sumA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sumB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// Of a keys file, however it is written, RemoveKey and RotateKey change one entry alone, or nothing.
func TestChangesOfOneKey(t *testing.T) {
	a, b := "  - {name: a, sha256: "+sumA+", runs: 2}\n", "  - {name: b, sha256: "+sumB+"}\n"
	block := "- name: a # ours\n  sha256: " + sumA + "\n  profiles:\n    - managed\n    - compile\n"
	for _, tt := range []struct {
		name, text string
		removed    string // without the key a; empty: it is refused
		refused    string
	}{
		{name: "the first", text: "keys:\n" + a + b, removed: "keys:\n" + b},
		{name: "the last", text: "keys:\n" + b + a, removed: "keys:\n" + b},
		{name: "the only one", text: "keys:\n" + a, removed: "keys:\n"},
		{name: "no line feed at the end", text: "keys:\n" + b + strings.TrimSuffix(a, "\n"), removed: "keys:\n" + b},
		{name: "comments stay", text: "# ours\nkeys:\n" + a + "# next\n" + b + "# end\n", removed: "# ours\nkeys:\n# next\n" + b + "# end\n"},
		{name: "a block", text: "keys:\n" + block + "- {name: b, sha256: " + sumB + "}\n", removed: "keys:\n- {name: b, sha256: " + sumB + "}\n"},
		{name: "a flow over several lines", text: "keys:\n  - {name: a,\n     sha256: " + sumA + "}\n" + b, removed: "keys:\n" + b},
		{name: "a closing brace in its own line", text: "keys:\n  - {name: a, sha256: " + sumA + "\n    }\n" + b, refused: "edit the file"},
		{name: "a list in one line", text: "keys: [{name: a, sha256: " + sumA + "}, {name: b, sha256: " + sumB + "}]\n",
			refused: "edit the file"},
		{name: "an anchor that others use", text: "keys:\n  - {name: a, sha256: &s " + sumA + "}\n  - {name: c, sha256: *s}\n",
			refused: "edit the file"},
		{name: "no such key", text: "keys:\n" + b, refused: "no such key"},
		{name: "no keys", text: "keys:\n", refused: "no such key"},
		{name: "a broken file", text: "keys:\n" + a + "  - {nam: b}\n", refused: "nam"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.yaml")
			write := func() {
				if err := os.WriteFile(path, []byte(tt.text), 0o640); err != nil {
					t.Fatal(err)
				}
			}

			check := func(what string, err error, want string) {
				t.Helper()
				now, rerr := os.ReadFile(path)
				switch {
				case rerr != nil:
					t.Fatal(rerr)
				case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused) || string(now) != tt.text):
					t.Errorf("%s: %v; want %q, and the file as it was:\n%s", what, err, tt.refused, now)
				case tt.refused == "" && (err != nil || string(now) != want):
					t.Errorf("%s: %v, and the file is\n%s\nwant\n%s", what, err, now, want)
				}
			}

			write()
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}

			check("remove", RemoveKey(path, "a"), tt.removed)
			if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() {
				t.Errorf("it is another file: %v, %v", after, err)
			}

			write()
			told := ""
			err = RotateKey(path, "a", func(token string) error { told = token; return nil })
			if tt.name == "a closing brace in its own line" { // its digest can be replaced
				return
			}

			want := strings.Replace(tt.text, sumA, hexSum(told), 1)
			check("rotate", err, want)
			if (told != "") != (tt.refused == "") {
				t.Errorf("rotate told %q", told)
			}
			if tt.refused != "" {
				return
			}

			keys, err := ReadKeys(path)
			if err != nil {
				t.Fatal(err)
			}
			defer keys.Close()

			if k, ok := keys.Find(told); !ok || k.Name != "a" || k.Runs != strings.Count(tt.text, "runs: 2")*2 {
				t.Errorf("the new key is %+v, %v", k, ok)
			}
		})
	}
}

// A key whose new secret could not be passed on keeps the old one.
func TestALostSecretRotatesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	text := "keys:\n  - {name: a, sha256: " + sumA + "}\n"
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	err := RotateKey(path, "a", func(string) error { return syscall.ENOSPC })
	if now, rerr := os.ReadFile(path); !errors.Is(err, syscall.ENOSPC) || rerr != nil || string(now) != text {
		t.Errorf("%v, %v:\n%s", err, rerr, now)
	}
}

// A service that has the file open reads a change without opening it again.
func TestARunningServiceSeesChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	tokens := map[string]string{}
	for _, name := range []string{"a", "b"} {
		if _, err := AddKey(path, -1, Key{Name: name}, func(token string) error { tokens[name] = token; return nil }); err != nil {
			t.Fatal(err)
		}
	}

	keys, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()

	if err := RotateKey(path, "a", noToken); err != nil {
		t.Fatal(err)
	}
	if err := RemoveKey(path, "b"); err != nil {
		t.Fatal(err)
	}

	for range 2 { // a change is loaded once its stamp is the same twice
		if _, err := keys.Reload(); err != nil {
			t.Fatal(err)
		}
	}

	for name, token := range tokens {
		if _, ok := keys.Find(token); ok {
			t.Errorf("the old key of %s is valid", name)
		}
	}

	if len(keys.List()) != 1 {
		t.Errorf("it has %+v", keys.List())
	}
}

func hexSum(token string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(token))) }
