package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// Images are never read as root: by the user who called sudo, in that user's directory; by nobody if root
// called brig, or if the environment claims that root called sudo, or says nothing that is a user.
func TestImagesAreNotReadAsRoot(t *testing.T) {
	testenv.NeedRoot(t)
	for _, tt := range []struct {
		sudo string
		uid  uint32
		own  bool
	}{
		{"", nobody, true}, {"0", nobody, true}, {"-1", nobody, true}, {"x", nobody, true}, {"4123456789", nobody, true}, {"1", 1, false},
	} {
		c := &cli{env: func(name string) string { return map[string]string{"SUDO_UID": tt.sudo, "HOME": "/root"}[name] }}
		r, err := c.chooseReader()
		if err != nil || r.credential == nil || r.credential.Uid != tt.uid || r.credential.Gid == 0 || r.ownCache != tt.own || strings.HasPrefix(r.home, "/root") || strings.HasPrefix(r.cache, "/root") {
			t.Errorf("SUDO_UID=%s: %+v, %+v, %v", tt.sudo, r, r.credential, err)
		}
		for _, g := range r.credential.Groups {
			if g == 0 {
				t.Errorf("SUDO_UID=%s: the reader has root's group", tt.sudo)
			}
		}
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
		"debian": "debian:latest", "debian:12": "debian:12", "ghcr.io/org/Tool:V1": "tool:v1", "localhost:5000/x": "x:latest", "localhost:5000/a/x:2": "x:2",
		"python@sha256:0123456789abcdef0123": "python:0123456789ab", "org/x:1@sha256:0123456789abcdef": "x:1",
	} {
		if got := nameFor(reference); got != want {
			t.Errorf("%s is stored as %s; want %s", reference, got, want)
		}
	}
}
