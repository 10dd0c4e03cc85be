// Package testenv supports privileged tests: they declare what they need, and are
// checked to leave the host unchanged.
package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// must is set in CI: there a test fails if its needs are not met, because a skip is
// not a pass.
const must = "BRIG_TEST_MUST"

// missing ends the test because something it needs is missing.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(must) != "" {
		t.Fatalf("needs "+format, args...)
	}
	t.Skipf("needs "+format, args...)
}

// NeedRoot requires root, as tests that make cells do.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "root: run make test as root")
	}
}

// NeedTool requires a program of the host, from the Debian package pkg, and returns its path.
func NeedTool(t testing.TB, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "%s: apt-get install %s", name, pkg)
	}
	return path
}

// NeedFile requires a file that was built before.
func NeedFile(t testing.TB, path, how string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		missing(t, "%s: %s", path, how)
	}
	return path
}
