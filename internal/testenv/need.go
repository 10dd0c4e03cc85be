// Package testenv is what privileged tests stand on: they state what they need,
// and they give the host back as it was.
package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// must is set in CI: there a test whose needs are not met fails, because a skip is
// not a pass.
const must = "BRIG_TEST_MUST"

// missing ends the test for want of something.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(must) != "" {
		t.Fatalf("needs "+format, args...)
	}
	t.Skipf("needs "+format, args...)
}

// NeedRoot is for tests that make cells.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "root: run make test as root")
	}
}

// NeedTool is for tests that use a program of the host.
func NeedTool(t testing.TB, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "%s: apt-get install %s", name, pkg)
	}
	return path
}

// NeedFile is for tests that use something built before.
func NeedFile(t testing.TB, path, how string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		missing(t, "%s: %s", path, how)
	}
	return path
}
