package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/procfs"
)

// ProcessesNamed lists the processes of the host whose argv[0] is name.
func ProcessesNamed(t testing.TB, name string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(file string) bool {
		text, err := os.ReadFile(file) // of a process that has ended: an error, or nothing
		return err != nil || !strings.HasPrefix(string(text), name+"\x00")
	})
}

// Descendants lists the descendants of pid.
func Descendants(t testing.TB, pid int) []int {
	t.Helper()
	all, err := procfs.Processes()
	if err != nil {
		t.Fatal(err)
	}
	return procfs.Descendants(all, pid)
}

// PeakMemory is the largest memory that the agent's process has had.
func (a *Agent) PeakMemory(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}

	t.Fatal("no VmHWM")
	return 0
}

// FindProcess waits for a process whose argv[0] is name, below this process: not of a test that runs in another one.
func FindProcess(t testing.TB, name string) int {
	t.Helper()

	wait := 5 * time.Millisecond
	for deadline := Patience(); time.Now().Before(deadline); time.Sleep(wait) {
		for _, pid := range Descendants(t, os.Getpid()) {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil && strings.HasPrefix(string(text), name+"\x00") {
				return pid
			}
		}
		wait = min(2*wait, 40*time.Millisecond)
	}

	t.Fatalf("no process %s", name)
	return 0
}

// AgentTime is the processor time that the agent has used.
func (a *Agent) AgentTime(t testing.TB) time.Duration {
	t.Helper()
	used, err := procfs.CPUTime(a.Cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return used
}
