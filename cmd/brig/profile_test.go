package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/seccomp"
)

// brig profile show does not warn about a tier: every call that it refuses by name has a reason.
func TestShowDoesNotWarnAboutTiers(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(own,
		[]byte("extends: strict\nappend:\n- {names: [personality], action: errno, errno: EPERM, why: mine}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, name := range append(seccomp.Tiers(), own) {
		var out, errs bytes.Buffer
		if code := brig(&cli.CLI{Stdout: &out, Stderr: &errs}, []string{"profile", "show", name}); code != 0 || out.Len() == 0 {
			t.Fatalf("%s: exit code %d\n%s", name, code, &errs)
		}
		want := ""
		if name == own {
			want = "personality: equal to the default"
		}
		if got := errs.String(); strings.Count(got, "\n") > 1 || !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: it says\n%s", name, got)
		}
	}
}
