//go:build foreign

package grading

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/docblock"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A foreignDir is a directory with clones of repositories of others.
type foreignDir string

// checkersOfTestlib is how many checkers testlib comes with.
const checkersOfTestlib = 21

// needs are the files that are looked for below each directory in DIR, and where they come from.
var needs = []struct{ file, repository string }{
	{"testlib.h", "github.com/MikeMirzayanov/testlib"},
	{"checkers/wcmp.cpp", "github.com/MikeMirzayanov/testlib"},
	{"examples/hello/problem.yaml", "github.com/Kattis/problemtools"},
	{"examples/oddecho/problem.yaml", "github.com/Kattis/problemtools"},
	{"example_problems/boolfind/problem.yaml", "github.com/DOMjudge/domjudge"},
	{"example_problems/fltcmp/problem.yaml", "github.com/DOMjudge/domjudge"},
	{"sample/aplusb/info.toml", "github.com/yosupo06/library-checker-problems"},
	{"test/fixtures/little-h-reboot-7$linux.zip", "github.com/cn-xcpc-tools/Polygon2DOMjudge"},
	{"test/fixtures/guess-array-1$linux.zip", "github.com/cn-xcpc-tools/Polygon2DOMjudge"},
}

// foreign finds the repositories in $BRIG_FOREIGN, and fails with everything that is missing.
func foreign(t *testing.T) foreignDir {
	t.Helper()
	dir := foreignDir(os.Getenv("BRIG_FOREIGN"))
	if dir == "" {
		t.Fatal("make foreign DIR=FOLDER: name a folder with clones of these repositories")
	}

	var missing []string
	for _, n := range needs {
		if dir.find(n.file) == "" {
			missing = append(missing, fmt.Sprintf("%s of %s", n.file, n.repository))
		}
	}

	if len(missing) > 0 {
		t.Fatalf("%s lacks:\n%s", dir, strings.Join(missing, "\n"))
	}
	return dir
}

// find returns the path of a file in one of the repositories; empty: none has it.
func (d foreignDir) find(name string) string {
	found, err := filepath.Glob(filepath.Join(string(d), "*", filepath.FromSlash(name)))
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

// TestForeignCheckers compares the checkers of testlib with native runs of them.
func TestForeignCheckers(t *testing.T) {
	dir := foreign(t)
	a := harness.StartAgent(t, "--slots", "2")
	harness.Images.Load(t, a, "cpp")
	var b strings.Builder
	b.WriteString("| checker of testlib | triples | accepted | wrong | points | not judged | as a native run |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, row := range foreignCheckers(t, a, dir) {
		b.WriteString(row.String())
	}
	writeForeign(t, "checkers", b.String())
}

// TestForeignPackages verifies packages of others.
func TestForeignPackages(t *testing.T) {
	dir := foreign(t)
	a := harness.StartAgent(t, "--slots", "2")
	for _, image := range []string{"cpp", "python", "java", "rust"} {
		harness.Images.Load(t, a, image)
	}
	var b strings.Builder
	b.WriteString("| package | format | submissions | not run | `brig problem verify`, three times |\n|---|---|---|---|---|\n")
	for _, row := range foreignPackages(t, a, dir) {
		b.WriteString(row)
	}
	writeForeign(t, "packages", b.String())
}

// writeForeign writes a table into the page, with WRITE and if nothing failed.
func writeForeign(t *testing.T, what, table string) {
	t.Helper()
	t.Log("\n" + table)
	if os.Getenv("WRITE") == "" || t.Failed() {
		return
	}
	if err := docblock.Replace("../../../docs/grading.md", "<!-- foreign "+what+" -->", "<!-- end foreign "+what+" -->", table); err != nil {
		t.Fatal(err)
	}
}
