package build

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The build's user can write to npm's cache, whatever the umask. Below a directory that it cannot pass
// through the error names that directory and the cure, where npm's own would tell to change owners.
func TestNPMsCacheIsReached(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's builds run as another user")
	}

	root, err := os.MkdirTemp("/var/tmp", "brig-npm-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)

	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}

	w, err := newBuildDir("")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	defer syscall.Umask(syscall.Umask(0o077))

	cache := filepath.Join(root, "brig", "npm")
	if err := w.mkdirCache(cache); err != nil {
		t.Fatal(err)
	}

	touch := exec.Command("touch", filepath.Join(cache, "x"))
	touch.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: buildBase, Gid: buildBase}}
	if out, err := touch.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}

	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.mkdirCache(cache); err == nil ||
		!strings.HasSuffix(err.Error(), "other users cannot pass through "+root+": chmod o+x "+root+", or name another directory") {
		t.Errorf("below a directory of root's alone: %v", err)
	}
}

// The lock files pin version and hash of every npm package. They name no registry, because the host
// configures that.
func TestNPMLocksPinEverything(t *testing.T) {
	locks := 0
	for name, r := range Recipes() {
		if r.NPM == "" {
			continue
		}

		locks++
		var lock struct {
			Packages map[string]struct {
				Version, Integrity, Resolved string
				Link, InBundle               bool
			}
		}

		if err := json.Unmarshal(r.Lock, &lock); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(lock.Packages) < 2 {
			t.Errorf("%s: the lock names %d packages", name, len(lock.Packages))
		}

		for path, p := range lock.Packages {
			if p.InBundle { // it is in the archive of the package that contains it, which is pinned
				continue
			}
			if path != "" && (p.Version == "" || !strings.HasPrefix(p.Integrity, "sha512-") || p.Resolved != "" || p.Link) {
				t.Errorf("%s: %s is not pinned: %+v", name, path, p)
			}
		}

		manifest, err := npmManifest(r.Lock)
		var m struct{ Dependencies map[string]string }
		if err == nil {
			err = json.Unmarshal([]byte(manifest), &m)
		}
		if main := map[string]string{"node": "typescript", "node-full": "jest", "node-npm": "npm", "jvm": "kotlin-compiler",
			"sandbox": "typescript"}[name]; err != nil ||
			m.Dependencies[main] == "" {
			t.Errorf("%s: package.json is %q, %v", name, manifest, err)
		}

		for dependency, version := range m.Dependencies {
			if strings.Trim(version, "0123456789.") != "" {
				t.Errorf("%s: %s is asked for as %q, not as one version", name, dependency, version)
			}
		}
	}

	if locks == 0 {
		t.Error("no recipe has a lock: nothing was looked at")
	}

	for _, bad := range []string{"", "{}", `{"packages": {"node_modules/a": {}}}`} {
		if m, err := npmManifest([]byte(bad)); err == nil {
			t.Errorf("of %q is made %q", bad, m)
		}
	}
}
