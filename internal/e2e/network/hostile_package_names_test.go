package network

import (
	"fmt"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// PKG-11. The names of files that a package leaves are in the memory of root's agent while it stores them:
// 195,000 of 1,250 bytes took 3 GiB. Now a set has 32 MiB of names, which take no more than the agent says,
// also under a second key, when the stored tree is compared. What cannot be stored is an error of the package.
func TestHostileNamesOfPackages(t *testing.T) {
	a, x := startInstaller(t, "--slots", "1"), newIndex(t)
	health, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	const nested = `
at = os.open("/packages", os.O_RDONLY)
for i in range(%d):
    os.mkdir("\x01" * 250, dir_fd=at)
    at = os.open("\x01" * 250, os.O_RDONLY, dir_fd=at)
for i in range(%d): os.close(os.open(str(i), os.O_CREAT | os.O_WRONLY, dir_fd=at))`

	const long = `
at = os.open("/packages", os.O_RDONLY)
for i in range(%d): os.close(os.open("%%06d" %% i + "\x01" * 245, os.O_CREAT | os.O_WRONLY, dir_fd=at))`

	for name, tt := range map[string]struct{ script, says string }{
		"many":   {fmt.Sprintf(nested, 5, 195_000), "names of its files have more than 32M"},
		"listed": {fmt.Sprintf(long, 150_000), "names of its files have more than 32M"},
		"deep":   {fmt.Sprintf(nested, 17, 1), "has more than 3000 bytes"},
	} {
		x.source(t, name, "1.0", map[string]string{"backend.py": builtWheel(name, "1.0", tt.script)})
		if _, err := installPackages(a, t.Context(), x, "python", name); !api.HasCode(err, api.CodePackagesFailed) ||
			!strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v; want %q", name, err, tt.says)
		}
	}

	t.Logf("refused: the agent took %s", api.Size(a.PeakMemory(t)))
	x.source(t, "long", "1.0",
		map[string]string{"backend.py": builtWheel("long", "1.0", fmt.Sprintf(long, 120_000)+"\nopen('out/long.py', 'w').write('x = 1')")})
	first, second := mustInstallPackages(t, a, x, "long"), mustInstallPackages(t, a, x, "long==1.0")
	if first.Files < 120_000 || first.Size < 120_000*4096 || second.Size != first.Size {
		t.Errorf("stored %+v and %+v; want 120,000 files of a block each", first, second)
	}
	if res := a.MustRun(t, pyWith(x, "import long, os\nprint(long.x, len(os.listdir('/packages')) > 120000)",
		"long")); string(res.Stdout) != "1 True\n" {
		t.Errorf("printed %q, %q", res.Stdout, res.Stderr)
	}

	peak := a.PeakMemory(t)
	t.Logf("stored: the agent took %s of the %s it says", api.Size(peak), api.Size(health.AgentMemoryMax))
	if peak > health.AgentMemoryMax {
		t.Errorf("the agent took %s, and says that it takes at most %s", api.Size(peak), api.Size(health.AgentMemoryMax))
	}
}
