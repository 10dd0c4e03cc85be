package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// No package of brig computes much before main: every command has all packages, and compiled expressions
// and tables that few commands need took a third of the time of brig version.
func TestPackagesOfBrigStartLight(t *testing.T) {
	const most = 64 << 10 // bytes that one package allocates
	c := exec.CommandContext(t.Context(), binary(t, "brig"), "version")
	c.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := 0
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes`).FindAllStringSubmatch(string(out), -1) {
		if m[1] != "main" && !strings.Contains(m[1], "brig-sandbox/brig") {
			continue // nothing but leaving out the import would change it
		}
		found++
		if n, err := strconv.Atoi(m[2]); err != nil || n > most {
			t.Errorf("%s allocates %s bytes before main: compute that where it is needed, with sync.OnceValue", m[1], m[2])
		}
	}
	if found < 10 {
		t.Errorf("%d packages are listed: %s", found, out)
	}
}
