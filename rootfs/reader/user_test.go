package reader

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/internal/shareddir"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// Images are never read as root: by the user that called sudo, in that user's directory; by a user of
// their own if root called brig, or if the environment claims that root called sudo, or says nothing.
func TestImagesAreNotReadAsRoot(t *testing.T) {
	testenv.NeedRoot(t)

	for _, tt := range []struct {
		name, value string
		uid         uint32
		own         bool
		fails       string
	}{
		{"SUDO_UID", "", UID, true, ""}, {"SUDO_UID", "0", UID, true, ""}, {"SUDO_UID", "-1", UID, true, ""},
		{"SUDO_UID", "x", UID, true, ""},
		{"SUDO_UID", "4123456789", 0, false, "unknown userid"}, {"SUDO_UID", "1", 1, false, ""},
		{"PKEXEC_UID", "1", 1, false, ""}, {"DOAS_USER", "daemon", 1, false, ""}, {"DOAS_USER", "root", UID, true, ""},
		{"DOAS_USER", "no-such-user", 0, false, "unknown user"},
	} {
		env := func(name string) string { return map[string]string{tt.name: tt.value, "HOME": "/root"}[name] }
		r, err := Choose(env, "/var/cache/brig/downloads")
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s=%s: %v; want an error with %q", tt.name, tt.value, err, tt.fails)
			}
			continue
		}
		if err != nil || r.Credential == nil || r.Credential.Uid != tt.uid || r.Credential.Gid == 0 || r.ownCache != tt.own ||
			strings.HasPrefix(r.home, "/root") || strings.HasPrefix(r.cache, "/root") {
			t.Errorf("%s=%s: %+v, %+v, %v", tt.name, tt.value, r, r.Credential, err)
			continue
		}

		for _, g := range r.Credential.Groups {
			if g == 0 {
				t.Errorf("%s=%s: the reader has root's group", tt.name, tt.value)
			}
		}
	}
}

// What nobody left among root's downloads is removed, and what the reader left stays.
func TestDownloadsOfOthersAreRemoved(t *testing.T) {
	testenv.NeedRoot(t)
	dir, err := os.MkdirTemp("/var/tmp", "brig-downloads-") // the reader cannot pass through t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}

	r := User{Credential: &syscall.Credential{Uid: UID, Gid: UID}, cache: filepath.Join(dir, "brig", "blobs"), ownCache: true}
	defer syscall.Umask(syscall.Umask(0o077)) // whatever it is, others pass through the directory above
	if err := r.makeCache(); err != nil {
		t.Fatal(err)
	}
	if at, err := shareddir.Impassable(filepath.Dir(r.cache)); at != "" || err != nil {
		t.Errorf("other users cannot pass through %s, %v", at, err)
	}
	if info, err := os.Stat(r.cache); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%v, %v; want a directory of the reader's alone", info, err)
	}

	for name, uid := range map[string]int{"mine": UID, "nobodys": 65534} {
		path := filepath.Join(r.cache, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, uid, uid)); err != nil {
			t.Fatal(err)
		}
	}

	if err := r.makeCache(); err != nil {
		t.Fatal(err)
	}

	left, err := os.ReadDir(r.cache)
	if err != nil || len(left) != 1 || left[0].Name() != "mine" {
		t.Errorf("%v, %v", left, err)
	}
}

// The credentials are found where docker and podman keep them, in the order in which docker looks.
func TestCredentialsOfDockerAndPodman(t *testing.T) {
	home := t.TempDir()
	write := func(parts ...string) string {
		path := filepath.Join(append([]string{home}, parts...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	env := map[string]string{"HOME": home}
	lookup := func(name string) string { return env[name] }
	if got := credentialsFile(lookup); got != "" {
		t.Errorf("%q; want none", got)
	}

	for _, step := range []struct {
		file []string
		name string // of the variable that leads there; empty: none is needed
		up   int    // the variable names the directory so many above the file
	}{
		{[]string{".config", "containers", "auth.json"}, "", 0},
		{[]string{"run", "containers", "auth.json"}, "XDG_RUNTIME_DIR", 2},
		{[]string{"auth"}, "REGISTRY_AUTH_FILE", 0},
		{[]string{".docker", "config.json"}, "", 0},
		{[]string{"other", "config.json"}, "DOCKER_CONFIG", 1},
	} { // each goes before those above it
		want := write(step.file...)
		value := want
		for range step.up {
			value = filepath.Dir(value)
		}
		if step.name != "" {
			env[step.name] = value
		}
		if got := credentialsFile(lookup); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
