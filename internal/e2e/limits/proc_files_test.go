package limits

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// RES-28: every file of /proc that a run sees is in the table of docs/threat-model.md, with what it tells
// of others. A kernel that has a new one needs a new line there.
func TestFilesOfProcAreListed(t *testing.T) {
	page, err := os.ReadFile("../../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}

	_, section, _ := strings.Cut(string(page), "\n## What `/proc` tells of others\n")
	section, _, ok := strings.Cut(section, "\n## ")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			listed[name[1]] = true
		}
	}

	if !ok || len(listed) < 40 {
		t.Fatalf("the table lists %d files", len(listed))
	}

	a := harness.StartAgent(t, "--slots", "1")
	res := a.MustRun(t, harness.Sh("cd /proc; ls -d [!0-9]*; echo; ls self; ls self/task/$$"))
	harness.WantVerdict(t, res, api.OK)
	top, own, _ := strings.Cut(string(res.Stdout), "\n\n")
	if top != "self\nthread-self" {
		t.Errorf("the top of /proc has %q; want the own processes alone", top)
	}

	names := strings.Fields(own)
	for _, name := range names {
		if !listed[name] {
			t.Errorf("docs/threat-model.md does not say what %s tells of others", name)
		}
	}

	if len(names) < 40 {
		t.Errorf("%d files were looked at: %q", len(names), names)
	}
}
