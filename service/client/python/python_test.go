// Package python holds the Python client; its tests are Python's own.
package python

import (
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
)

func TestPythonClient(t *testing.T) {
	python := testenv.NeedTool(t, "python3", "python3")

	// go test caches the result until a file that the test has opened changes.
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".py") {
			_, err = os.ReadFile(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	c := exec.CommandContext(t.Context(), python, "-B", "-W", "error", "-m", "unittest", "discover", "-t", ".", "-s", "tests")
	out, err := c.CombinedOutput()
	if ran := regexp.MustCompile(`(?m)^Ran [1-9]\d* tests`); err != nil || !ran.Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
