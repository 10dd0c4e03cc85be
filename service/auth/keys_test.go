package auth

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestKeys(t *testing.T) {
	var text strings.Builder
	tokens := map[string]string{}
	text.WriteString("keys:\n")
	for _, name := range []string{"teacher", "judge-1", "a@b.c"} {
		token, line, err := NewKey(Key{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = token
		text.WriteString(line + "\n")
	}

	k, err := ParseKeys([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}

	for name, token := range tokens {
		if got, ok := k.Find(token); !ok || got.Name != name || got.Blobs != api.GiB || got.Admin {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
		for _, wrong := range []string{"", token[:len(token)-1], token + "x", strings.ToUpper(token)} {
			if got, ok := k.Find(wrong); ok {
				t.Errorf("%q is the key of %s", wrong, got.Name)
			}
		}
		if strings.Contains(text.String(), token) {
			t.Error("the file has the key itself")
		}
	}

	if _, _, err := NewKey(Key{Name: "two words"}); err == nil {
		t.Error("a name that YAML would not take is accepted")
	}
}

func TestBoundsOfKeys(t *testing.T) {
	want := Key{Name: "ann", Runs: 2, Waiting: 3, Sessions: 4, Memory: 2 * api.GiB, Bodies: 5, Blobs: 64 * api.MiB, Volumes: 3 * api.GiB / 2,
		Batches: 6, BatchBytes: 5 * api.GiB, Weight: 512, CPUs: 0.5, Mode: api.Exclusive, Admin: true, Network: api.NetworkAllow}
	token, line, err := NewKey(want)
	if err != nil || !strings.HasSuffix(line,
		", runs: 2, waiting: 3, sessions: 4, memory: 2G, bodies: 5, blobs: 64M, volumes: 1536M, batches: 6, "+
			"batch_bytes: 5G, weight: 512, cpus: 0.5, mode: exclusive, admin: true, network: allow}") {
		t.Fatalf("%v, %s", err, line)
	}

	k, err := ParseKeys([]byte("keys:\n" + line))
	if err != nil {
		t.Fatal(err)
	}

	got, _ := k.Find(token)
	got.SHA256, got.sum = "", want.sum
	if got != want {
		t.Errorf("%+v; want %+v", got, want)
	}

	_, line, _ = NewKey(Key{Name: "bob"})
	k, err = ParseKeys([]byte("keys:\n" + strings.Replace(line, "}", ", volumes: 4096, blobs: 0, runs: }", 1)))
	if err != nil || k.List()[0].Volumes != 4096 || k.List()[0].Blobs != api.GiB || k.List()[0].Runs != 0 {
		t.Errorf("%v, %+v", err, k)
	}
	if _, _, err := NewKey(Key{Name: "ann", Volumes: -1}); err == nil {
		t.Error("a negative bound is accepted")
	}
}

func TestBadKeysFiles(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	for name, tt := range map[string]struct{ text, want string }{
		"empty":   {"", "brig key add"},
		"no keys": {"keys: []\n", "brig key add"},
		"unknown setting": {"keys:\n- {name: a, sha256: " + sum + ",\n  rnus: 3}\n",
			`line 3: unknown field "rnus": a key has name, sha256, runs, waiting, sessions, memory, bodies, blobs, volumes, problems, problem_bytes, batches, batch_bytes, weight, cpus, mode, admin, profiles, profile_log, own_image, network, packages`},
		"unknown section": {"kyes:\n- {name: a, sha256: " + sum + "}\n", `line 1: unknown field "kyes"`},
		"no size":         {"keys:\n- name: a\n  blobs: lots\n", `line 3: blobs: size "lots": write a number with an optional K, M, G or T`},
		"no number":       {"keys:\n- name: a\n  runs: few\n", `line 3: runs "few": write a whole number`},
		"neither":         {"keys:\n- name: a\n  admin: maybe\n", `line 3: admin "maybe": write true or false`},
		"no mode":         {"keys:\n- {name: a, mode: session, sha256: " + sum + "}\n", `key "a": mode "session" does not exist`},
		"no network": {"keys:\n- {name: a, network: all, sha256: " + sum + "}\n",
			`key "a": network "all" does not exist: use none, loopback, allow, public`},
		"a field twice": {"keys:\n- {name: a, runs: 1, runs: 2}\n", "line 2: runs is given twice"},
		"a list in it":  {"keys:\n- {name: [a]}\n", "line 2: name: write one value"},
		"no list":       {"keys: a\n", "brig key new"},
		"no object":     {"keys:\n- a\n", "line 2: write a key as brig key new NAME prints it"},
		"short hash":    {"keys:\n- {name: a, sha256: abcd}\n", "64 hex digits"},
		"no hash":       {"keys:\n- {name: a}\n", "64 hex digits"},
		"hash of nothing": {"keys:\n- {name: a, sha256: " +
			"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}\n", "anybody can send"},
		"no name":     {"keys:\n- {sha256: " + sum + "}\n", "name"},
		"twice":       {"keys:\n- {name: a, sha256: " + sum + "}\n- {name: a, sha256: " + sum + "}\n", "twice"},
		"negative":    {"keys:\n- {name: a, runs: -1, sha256: " + sum + "}\n", "negative"},
		"a bare list": {"- {name: a, sha256: " + sum + "}\n", "first line must be keys:"},
		"no YAML":     {"keys: [", "yaml"},
	} {
		if _, err := ParseKeys([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}

	if _, err := ReadKeys("nosuch.yaml"); err == nil || !strings.Contains(err.Error(), "no keys file nosuch.yaml") {
		t.Errorf("no file: %v", err)
	}

	path := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(path, []byte("keys:\n- {name: a, sha256: "+sum+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeys(path); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a file that everybody can read: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeys(path); err != nil {
		t.Error(err)
	}
}

// A changed keys file takes effect without a restart; an invalid one has no effect.
func TestKeysAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	token, line := map[string]string{}, map[string]string{}
	for _, name := range []string{"ann", "bob", "eve"} {
		var err error
		if token[name], line[name], err = NewKey(Key{Name: name}); err != nil {
			t.Fatal(err)
		}
	}

	text := func(names ...string) string {
		all := "keys:\n"
		for _, name := range names {
			all += line[name] + "\n"
		}
		return all
	}

	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	replace := func(text string) {
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}

	write(text("ann"))
	k, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()

	for _, tt := range []struct {
		name  string
		do    func()
		fails string
		want  []string
	}{
		{"nothing", func() {}, "", []string{"ann"}},
		{"another is added", func() { write(text("ann", "bob")) }, "", []string{"ann", "bob"}},
		{"one is put in its place", func() { replace(text("bob", "eve")) }, "", []string{"bob", "eve"}},
		{"one is taken away", func() { write(text("bob")) }, "", []string{"bob"}},
		{"no YAML", func() { write("keys: [") }, "yaml", []string{"bob"}},
		{"nothing in it", func() { write("") }, "no line keys", []string{"bob"}},
		{"the last is taken away", func() { write("keys:\n") }, "", nil},
		{"and comes back", func() { write(text("bob")) }, "", []string{"bob"}},
		{"a broken one in its place", func() { replace("keys:\n- x\n") }, "keys", []string{"bob"}},
		{"others can read it", func() { replace(text("ann")); _ = os.Chmod(path, 0o644) }, "chmod", []string{"bob"}},
		{"no more", func() { _ = os.Chmod(path, 0o600) }, "", []string{"ann"}},
		{"it is gone", func() { _ = os.Remove(path) }, "no such file", []string{"ann"}},
		{"a FIFO in its place", func() { _ = syscall.Mkfifo(path, 0o600) }, "regular", []string{"ann"}},
		{"a directory", func() { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) }, "regular", []string{"ann"}},
		{"none again", func() { _ = os.Remove(path) }, "no such file", []string{"ann"}},
		{"it is there again", func() { write(text("eve")) }, "", []string{"eve"}},
	} {
		tt.do()
		var said []string
		for range 4 {
			if _, err := k.Reload(); err != nil {
				said = append(said, err.Error())
			}
		}

		if tt.fails == "" && said != nil || tt.fails != "" && (len(said) != 1 || !strings.Contains(said[0], tt.fails)) {
			t.Errorf("%s: told %q; want %q once", tt.name, said, tt.fails)
		}
		if (tt.fails != "") == k.Unread().IsZero() {
			t.Errorf("%s: not read since %v", tt.name, k.Unread())
		}

		for name := range token {
			if _, ok := k.Find(token[name]); ok != slices.Contains(tt.want, name) {
				t.Errorf("%s: the key of %s is known: %v", tt.name, name, ok)
			}
		}
	}
}

// A file is not read while it is still being written.
func TestHalfWrittenKeysDoNotCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	token, ann, _ := NewKey(Key{Name: "ann"})
	_, bob, _ := NewKey(Key{Name: "bob"})
	if err := os.WriteFile(path, []byte("keys:\n"+bob+"\n"+ann+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	k, err := ReadKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()

	whole := "keys:\n" + bob + "\n" + ann + "\n# and a remark\n"
	for n := len("keys:\n" + bob + "\n"); n <= len(whole); n += 40 { // larger at each poll
		if err := os.WriteFile(path, []byte(whole[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := k.Reload(); c != nil || err != nil {
			t.Errorf("after %d bytes: %+v, %v", n, c, err)
		}
		if _, ok := k.Find(token); !ok {
			t.Fatalf("after %d bytes a key is lost", n)
		}
	}
}

// A keys file is accepted as a whole or refused; an accepted one has keys with unique names, and
// none for which an empty token, or the hash itself as a token, is valid.
func FuzzKeys(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	f.Add([]byte("keys:\n- {name: a, sha256: " + sum + ", runs: 3, blobs: 64M, admin: true}\n- {name: b, sha256: " + sum + "}\n"))
	f.Add([]byte("keys: &k\n- {name: a, sha256: " + sum + "}\nkeys: *k\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		k, err := ParseKeys(in)
		if err != nil {
			return
		}

		names := map[string]bool{}
		for _, key := range k.List() {
			if !isKeyName(key.Name) || names[key.Name] || key.Blobs <= 0 || key.Runs < 0 {
				t.Errorf("taken: %+v", key)
			}
			names[key.Name] = true
			if _, opens := k.Find(key.SHA256); opens {
				t.Errorf("the hash of key %q is a token", key.Name)
			}
		}

		if _, opens := k.Find(""); opens {
			t.Error("no token at all opens it")
		}
	})
}
