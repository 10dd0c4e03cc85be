package agent

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/procfs"
)

// No package of brig computes much before main: every command has all packages, and compiled expressions
// and tables that few commands need took a third of the time of brig version.
func TestPackagesOfBrigStartLight(t *testing.T) {
	const maximum = 64 << 10 // bytes that one package allocates
	c := exec.CommandContext(t.Context(), harness.Binary(t, "brig"), "version")
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
		if n, err := strconv.Atoi(m[2]); err != nil || n > maximum {
			t.Errorf("%s allocates %s bytes before main: compute that where it is needed, with sync.OnceValue", m[1], m[2])
		}
	}

	if found < 10 {
		t.Errorf("%d packages are listed: %s", found, out)
	}
}

// An agent starts from a sealed copy of its binary. A copy that passes through the memory of the process
// touches a new page for each page of the binary, and took a third of the start.
func TestAgentStartsWithFewPageFaults(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	info, err := os.Stat(harness.Binary(t, "brigd"))
	if err != nil {
		t.Fatal(err)
	}

	stat, err := procfs.ReadStat(strconv.Itoa(a.Cmd.Process.Pid))
	faults := stat.MinorFaults // also of the process before it executed the copy
	if pages := info.Size() / int64(os.Getpagesize()); err != nil || faults < 100 || faults > pages {
		t.Errorf("%d page faults, %v; want less than the %d pages of the binary", faults, err, pages)
	}
}

// Code before Go guesses from the arguments whether an agent starts (cmd/brigd/private_mounts.c). A guess that is wrong
// changes nothing: with these arguments an agent starts, too, in a mount namespace of its own and from a sealed copy.
func TestAgentWhoseArgumentsLookLikeOthers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--profiles", "--version")
	proc := "/proc/" + strconv.Itoa(a.Cmd.Process.Pid)
	exe, err := os.Readlink(proc + "/exe")
	if err != nil || !strings.HasPrefix(exe, "/memfd:brigd") {
		t.Errorf("the agent executes %s, %v; want its sealed copy", exe, err)
	}

	own, err := os.Readlink(proc + "/ns/mnt")
	if ours, ourErr := os.Readlink("/proc/self/ns/mnt"); err != nil || ourErr != nil || own == ours {
		t.Errorf("the agent is in mount namespace %s, %v, and the test in %s, %v", own, err, ours, ourErr)
	}

	name, err := os.ReadFile(proc + "/comm")
	if err != nil || string(name) != "brigd\n" {
		t.Errorf("the agent's name is %q, %v", name, err)
	}
}
