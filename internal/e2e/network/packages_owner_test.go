package network

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// PKG-06. A user relays the installer's connections, and so decides what is in its sets: they serve that
// user alone. Sets of root serve everybody, without a download.
func TestPackagesOfAnotherUser(t *testing.T) {
	a, x := startInstaller(t, append([]string{"--packages"}, harness.SharedFlags...)...), newIndex(t)
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 'poisoned'\n"})
	x.wheel(t, "two", "1.0", "", map[string]string{"two.py": "x = 'of root'\n"})
	public := filepath.Join(a.Dir, "brig") // the checkout may be closed to others
	harness.CopyFile(t, harness.Binary(t, "brig"), public)
	gid := harness.SharedGroup(t)
	asUser := func(words ...string) (string, string) {
		t.Helper()
		cmd := exec.Command(public, words...)
		cmd.Dir = "/"
		cmd.Env = []string{"BRIG_SOCKET=" + a.Socket, "PATH=/usr/bin:/bin", "SANDBOX_PYTHON_INDEX=" + x.url}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: gid}}
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return out.String(), errs.String()
	}

	program := []string{"-c", "import one\nprint(one.x)"}
	if out, errs := asUser(append([]string{"run", "--requirement", "one"}, program...)...); out != "poisoned\n" {
		t.Fatalf("the user's own set: %q, %q", out, errs)
	}

	a.Refused(t, pyWith(x, "import one", "one"), api.CodePackagesMissing) // root has another key
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 'good'\n"})
	mustInstallPackages(t, a, x, "one")
	if res := a.MustRun(t, pyWith(x, "import one\nprint(one.x)", "one")); string(res.Stdout) != "good\n" {
		t.Errorf("root's run printed %q, %q", res.Stdout, res.Stderr)
	}

	sets, err := a.PackageSets(t.Context())
	if err != nil || len(sets) != 2 || sets[0].Owner == sets[1].Owner {
		t.Fatalf("%+v, %v; want one of each", sets, err)
	}

	for _, s := range sets {
		if s.Owner == 0 {
			if _, errs := asUser("packages", "rm", s.Key); !strings.Contains(errs, "belongs to root") {
				t.Errorf("the user removes a set of root: %q", errs)
			}
		}
	}

	mustInstallPackages(t, a, x, "two")
	if out, errs := asUser("run", "--requirement", "two", "-c", "import two\nprint(two.x)"); out != "of root\n" || errs != "" {
		t.Errorf("a set of root: %q, %q", out, errs)
	}
	if n := x.downloads("two-1.0-py3-none-any.whl"); n != 1 {
		t.Errorf("%d downloads of what root has installed; want one", n)
	}
	if _, err := os.Stat("/packages"); err == nil {
		t.Error("the host has a directory /packages")
	}
}
