//go:build interpreters

package templates

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/build"
)

// The image of Python with CPython's own tests, which are a package of their own in Debian.
const pythonTestsRecipe = `name: python-tests
kind: debian
suite: trixie
packages: [python3, libpython3.13-testsuite]
epoch: 1754697600
finish: |
  PYTHONHASHSEED=0 chroot "$1" python3 -m compileall -f -q --invalidation-mode unchecked-hash /usr/lib/python3.13 >/dev/null || true # some are not to compile
`

const pythonTestsManifest = `name: python-tests
extends: python
image: python-tests
`

// runOneModule executes one module of the tests and writes a line for each of them.
const runOneModule = `import json, sys, unittest
from test import support
support.use_resources = {}
out = open("/box/outcomes", "a")
class Result(unittest.TestResult):
    def note(self, test, outcome):
        print(json.dumps([test.id(), outcome]), file=out, flush=True)
    def addSuccess(self, test): self.note(test, "ok")
    def addFailure(self, test, e): self.note(test, "failure")
    def addError(self, test, e): self.note(test, "error " + e[0].__name__)
    def addSkip(self, test, why): self.note(test, "skipped")
    def addExpectedFailure(self, test, e): self.note(test, "expected failure")
    def addUnexpectedSuccess(self, test): self.note(test, "unexpected success")
    def addSubTest(self, test, sub, e):
        if e: self.note(sub, "failure" if issubclass(e[0], AssertionError) else "error " + e[0].__name__)
if __name__ == "__main__":
    try: suite = unittest.defaultTestLoader.loadTestsFromName("test." + sys.argv[1])
    except unittest.SkipTest: suite = unittest.TestSuite()
    suite.run(Result())
    Result().note(type("End", (), {"id": lambda self: "end"})(), "reached")
`

// outcomesOf executes a module and returns the outcomes of its tests, and how it ended.
func outcomesOf(t *testing.T, b harness.Bench, module string, cold bool) (map[string]string, api.Result) {
	t.Helper()
	r := api.Run{Language: "python-tests", Source: api.Bytes(runOneModule), Argv: []string{module}, NoTemplate: cold}
	r.Limits = api.Limits{Wall: harness.Seconds(240), CPU: harness.Seconds(200), Memory: api.GiB, Pids: 300,
		Output: 4 * api.MiB, Scratch: 256 * api.MiB}
	r.Collect = api.Collect{Globs: []string{"outcomes"}}
	res := b.MustRun(t, r)
	out := map[string]string{"the run": string(res.Verdict)}
	for _, f := range res.Files {
		for line := range bytes.Lines(f.Content) {
			var one [2]string
			if err := json.Unmarshal(line, &one); err == nil {
				out[one[0]] += one[1] + " "
			}
		}
	}

	return out, res
}

// differences lists the tests whose outcomes differ.
func differences(warm, cold map[string]string) (names []string) {
	for name := range maps.Keys(warm) {
		if warm[name] != cold[name] {
			names = append(names, name)
		}
	}
	for name := range maps.Keys(cold) {
		if _, ok := warm[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// CPython's own tests have the same outcomes in a process that begins from a template as with the
// ordinary start. A module whose outcomes differ is run once more each way: some depend on time.
// $BRIG_INTERPRETERS_MODULES names the modules; not set: all.
func TestCPythonsOwnTests(t *testing.T) {
	recipe, err := build.ParseRecipe("python-tests.yaml", []byte(pythonTestsRecipe))
	if err != nil {
		t.Fatal(err)
	}

	dir := harness.PublicDir(t, "brig-languages-")
	if err := os.WriteFile(filepath.Join(dir, "python-tests.yaml"), []byte(pythonTestsManifest), 0o644); err != nil {
		t.Fatal(err)
	}

	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--languages", dir, "--max-wall", "10m", "--max-cpu",
		"10m", "--template-life", "1h"),
		Slots: make(chan struct{}, 2)}
	importRecipe(t, b, recipe)
	modules := strings.Fields(os.Getenv("BRIG_INTERPRETERS_MODULES"))
	if len(modules) == 0 {
		modules = testModules(t, b)
	}

	var total, same atomic.Int64
	for _, module := range modules {
		b.Test(t, module, func(t *testing.T) {
			warm, res := outcomesOf(t, b, module, false)
			if !res.Host.Template {
				t.Fatalf("it has the ordinary start: %s", res.Host.Cold)
			}

			cold, _ := outcomesOf(t, b, module, true)
			differ := differences(warm, cold)
			if len(differ) > 0 {
				again, _ := outcomesOf(t, b, module, false)
				coldAgain, _ := outcomesOf(t, b, module, true)
				differ = slices.DeleteFunc(differ, func(name string) bool {
					return again[name] == cold[name] || warm[name] == coldAgain[name] || again[name] == coldAgain[name]
				})
			}

			total.Add(int64(len(cold)))
			same.Add(int64(len(cold) - len(differ)))
			t.Logf("%s: %d tests, %s", module, len(cold)-1, cold["the run"])
			for _, name := range differ {
				t.Errorf("%s: %s from a template, %s with the ordinary start", name, warm[name], cold[name])
			}
		})
	}

	t.Cleanup(func() {
		fmt.Printf("CPython's own tests: %d, of which %d have the same outcome\n", total.Load(), same.Load())
	})
}

// importRecipe builds and stores an image, unless it is there.
func importRecipe(t *testing.T, b harness.Bench, recipe build.Recipe) {
	t.Helper()
	mark, current := harness.RecipeMark(t, b.Data, recipe)
	list, err := b.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if current && slices.ContainsFunc(list, func(i api.Image) bool { return slices.Contains(i.Names, recipe.Name) }) {
		return
	}

	var archive bytes.Buffer
	if err := build.Image(context.Background(), recipe, &archive, build.Options{Cache: "/var/cache/brig"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Import(t.Context(), &archive, recipe.Name, ""); err != nil {
		t.Fatal(err)
	}

	mark()
}

// testModules lists the modules of the package test in the image.
func testModules(t *testing.T, b harness.Bench) (out []string) {
	t.Helper()
	store, err := rootfs.Open(filepath.Join(b.Data, "images"))
	if err != nil {
		t.Fatal(err)
	}

	img, err := store.Lookup("python-tests")
	if err != nil {
		t.Fatal(err)
	}

	found, err := filepath.Glob(filepath.Join(img.Path, "usr/lib/python3.13/test/test_*.py"))
	if err != nil || len(found) < 100 {
		t.Fatalf("the image has %d modules of tests, %v", len(found), err)
	}

	for _, path := range found {
		out = append(out, strings.TrimSuffix(filepath.Base(path), ".py"))
	}
	return out
}
