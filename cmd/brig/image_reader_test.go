package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
		{"SUDO_UID", "", readerID, true, ""}, {"SUDO_UID", "0", readerID, true, ""}, {"SUDO_UID", "-1", readerID, true, ""},
		{"SUDO_UID", "x", readerID, true, ""},
		{"SUDO_UID", "4123456789", 0, false, "unknown userid"}, {"SUDO_UID", "1", 1, false, ""},
		{"PKEXEC_UID", "1", 1, false, ""}, {"DOAS_USER", "daemon", 1, false, ""}, {"DOAS_USER", "root", readerID, true, ""},
		{"DOAS_USER", "no-such-user", 0, false, "unknown user"},
	} {
		c := &cli{env: func(name string) string { return map[string]string{tt.name: tt.value, "HOME": "/root"}[name] }}
		r, err := c.chooseReader()
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s=%s: %v; want an error with %q", tt.name, tt.value, err, tt.fails)
			}
			continue
		}
		if err != nil || r.credential == nil || r.credential.Uid != tt.uid || r.credential.Gid == 0 || r.ownCache != tt.own ||
			strings.HasPrefix(r.home, "/root") || strings.HasPrefix(r.cache, "/root") {
			t.Errorf("%s=%s: %+v, %+v, %v", tt.name, tt.value, r, r.credential, err)
			continue
		}

		for _, g := range r.credential.Groups {
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

	r := reader{credential: &syscall.Credential{Uid: readerID, Gid: readerID}, cache: filepath.Join(dir, "brig", "blobs"), ownCache: true}
	if err := r.makeCache(); err != nil {
		t.Fatal(err)
	}

	for name, uid := range map[string]int{"mine": readerID, "nobodys": 65534} {
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
	c := &cli{env: func(name string) string { return env[name] }}
	if got := c.credentialsFile(); got != "" {
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
		if got := c.credentialsFile(); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

// Images from registries do not take the names of images of languages.
func TestNamesOfPulledImages(t *testing.T) {
	for reference, want := range map[string]string{
		"debian": "debian:latest", "debian:12": "debian:12", "ghcr.io/org/Tool:V1": "tool:v1", "localhost:5000/x": "x:latest",
		"localhost:5000/a/x:2":               "x:2",
		"python@sha256:0123456789abcdef0123": "python:0123456789ab", "org/x:1@sha256:0123456789abcdef": "x:1",
	} {
		if got := nameFor(reference); got != want {
			t.Errorf("%s is stored as %s; want %s", reference, got, want)
		}
	}
}
