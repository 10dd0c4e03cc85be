package limits

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The first example of docs/profiles.md works as it is written, with a test directory in place of
// /etc/brig/profiles; and the agent that has read it offers the profile.
func TestDocumentedProfileIsMadeAndUsed(t *testing.T) {
	shown := harness.CodeBlock(t, "../../../docs/profiles.md", "sudo brig run --profile mine.yaml")
	const etc = "/etc/brig/profiles/"
	if !strings.Contains(shown, etc) {
		t.Fatalf("no %s in\n%s", etc, shown)
	}

	dir, profiles := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hello.py"), []byte("print('hello from', 6 * 7)\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	socket := ""
	do := func(script string) string {
		c := exec.CommandContext(t.Context(), "sh", "-ec", `sudo() { "$@"; }`+"\n"+script)
		c.Dir = dir
		c.Env = append(os.Environ(), "PATH="+filepath.Dir(harness.Binary(t, "brig"))+":"+os.Getenv("PATH"), "BRIG_SOCKET="+socket)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}

	do("brig profile export default --yaml >" + profiles + "/mine.yaml") // agents read the directory at startup
	a := harness.StartAgent(t, "--profiles", profiles)
	a.NeedPython(t)
	socket = a.Socket
	out := do(strings.ReplaceAll(shown, etc, profiles))
	if !strings.Contains(out, "\nhello from 42\n") || strings.Contains(out, "brig: ") {
		t.Errorf("the example says\n%s", out)
	}
	if out := do("brig run --profile mine hello.py"); out != "hello from 42\n" {
		t.Errorf("the profile by its name: %q", out)
	}
}
