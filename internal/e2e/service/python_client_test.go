package service

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// The Python client's own tests against a service, with a key and without. make test has those of the adapters alone without
// a key.
func TestPythonClientAgainstService(t *testing.T) {
	python := testenv.NeedTool(t, "python3", "python3")
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	keyless := []string{"tests.live_adapters"} // adapters need no key of their own
	if harness.Long() {
		keyless = append(keyless, "tests.live")
	}
	for name, with := range map[string]struct {
		flags, tests []string
		key          string
	}{
		"without keys": {tests: keyless},
		"with a key":   {[]string{"--keys", file, "--data-dir", a.Dir + "/keyed"}, []string{"tests.live"}, keys["ann"]},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.StartService(t, a, with.flags...)
			c := exec.CommandContext(t.Context(), python, append([]string{"-B", "-W", "error", "-m", "unittest"}, with.tests...)...)
			c.Dir = "../../../service/client/python"
			c.Env = append(os.Environ(), "BRIG_URL="+s.Url, "BRIG_API_KEY="+with.key)
			out, err := c.CombinedOutput()
			if ran := regexp.MustCompile(`(?m)^Ran [1-9]\d* tests`); err != nil || !ran.Match(out) {
				t.Errorf("%v\n%s\n%s", err, out, s.Log)
			}
		})
	}
}
