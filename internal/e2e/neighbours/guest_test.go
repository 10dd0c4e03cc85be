package neighbours

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// procOf reads a file below the guest's directory in the host's /proc. The guest must have answered
// before: until then the process may not have executed its program yet.
func procOf(t *testing.T, g *harness.Guest, file string) string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}

	for _, cmdline := range all {
		args, err := os.ReadFile(cmdline)
		if err != nil || !slices.Contains(strings.Split(string(args), "\x00"), g.Name) {
			continue // another process, or it ended meanwhile
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(cmdline), file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}

	t.Fatalf("the host has no process %s", g.Name)
	return ""
}

// uidOf is the guest's user id on the host.
func uidOf(t *testing.T, g *harness.Guest) int {
	t.Helper()
	_, after, _ := strings.Cut(procOf(t, g, "status"), "\nUid:")
	var ids [4]int
	if n, err := fmt.Sscan(after, &ids[0], &ids[1], &ids[2], &ids[3]); n != 4 || ids != [4]int{ids[0], ids[0], ids[0], ids[0]} {
		t.Fatalf("ids %v, %v; want one of them four times", ids, err)
	}
	return ids[0]
}
