package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// The Python client's own tests against a service, with a key and without.
func TestPythonClientAgainstService(t *testing.T) {
	python := testenv.NeedTool(t, "python3", "python3")
	a := startAgent(t, sharedFlags...)
	a.needPython(t)
	file, keys := keysFile(t, a.dir, "ann")
	for name, with := range map[string]struct {
		flags []string
		key   string
	}{
		"without keys": {},
		"with a key":   {[]string{"--keys", file, "--data-dir", a.dir + "/keyed"}, keys["ann"]},
	} {
		t.Run(name, func(t *testing.T) {
			s := startService(t, a, with.flags...)
			c := exec.CommandContext(t.Context(), python, "-B", "-W", "error", "-m", "unittest", "tests.live")
			c.Dir = "../../service/client/python"
			c.Env = append(os.Environ(), "BRIG_URL="+s.url, "BRIG_API_KEY="+with.key)
			out, err := c.CombinedOutput()
			if ran := regexp.MustCompile(`(?m)^Ran [1-9]\d* tests`); err != nil || !ran.Match(out) {
				t.Errorf("%v\n%s\n%s", err, out, s.log)
			}
		})
	}
}
