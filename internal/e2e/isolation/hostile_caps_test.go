package isolation

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// CAP-04: calls that need a capability are refused for lack of it, call by call, where the filter
// lets every call through. The same calls get further as root of a user namespace, and those that
// only the host's root may make, as the host's root.
func TestHostileCapabilities(t *testing.T) {
	c := harness.NewCanaries(t)
	a := harness.StartAgent(t, "--slots", "1")
	probe := harness.BuildProbe(t, "CAP-04")
	refused := map[string][]string{
		"DAC_OVERRIDE": {"EACCES"}, "DAC_READ_SEARCH": {"EACCES"}, "NET_BIND_SERVICE": {"EACCES"}, "IPC_OWNER": {"EACCES"},
		"LEASE": {"EACCES"}, "SYS_NICE": {"EACCES"}, "IPC_LOCK": {"ENOMEM"},
		"PERFMON": {"EACCES", "EPERM", "ENOSYS"}, "SYS_MODULE": {"EPERM", "ENOSYS"}, "SYS_PACCT": {"EPERM", "ENOSYS"}, "BPF": {"EPERM", "ENOSYS"},
		"AUDIT_READ": {"EPERM", "EPROTONOSUPPORT"}, "LINUX_IMMUTABLE": {"EPERM", "ENOTTY"}, "*": {"EPERM"},
	}

	without := []string{"ENOSYS", "EPROTONOSUPPORT", "ENOTTY"} // answers of a kernel built without the feature
	for _, group := range []struct {
		name    string
		args    []string
		lines   int
		outside func(t *testing.T) []corpus.Attempt
	}{
		{"of a user namespace", nil, 17, func(t *testing.T) []corpus.Attempt { return inJail(t, probe) }},
		{"of the host", []string{"host"}, 18, func(t *testing.T) []corpus.Attempt { return asRoot(t, probe, "host") }},
	} {
		t.Run(group.name, func(t *testing.T) {
			e := harness.Expectation{Case: corpus.Case{Verdicts: []api.Verdict{api.OK}, Errno: refused, Lines: group.lines}}
			t.Run("control", func(t *testing.T) {
				got := group.outside(t)
				if len(got) != group.lines {
					t.Errorf("%d attempts; want %d", len(got), group.lines)
				}

				for _, x := range got {
					if x.Call == "SYS_RESOURCE" && !hasCapability(t, unix.CAP_SYS_RESOURCE) {
						t.Logf("this machine's root has not got %s itself", x.Call)
						continue
					}
					if held, _ := e.Wanted(x.Call); slices.Contains(held, x.Errno) && !slices.Contains(without, x.Errno) {
						t.Errorf("with the capability, %s gives %s as without: the probe proves nothing", x.Call, x.Errno)
					}
				}
			})

			harness.Both(t, func(t *testing.T, mode api.Mode) {
				r := harness.Program(probe, group.args...)
				r.ProfileMode, r.Mode, r.Limits = api.Log, mode, harness.HostileLimits()
				res := a.MustRun(t, r)
				e.CheckResult(t, c, res)
				c.Untouched(t)
				if len(res.Logged) < group.lines/2 {
					t.Errorf("%d calls are logged: the others have not gone past the filter", len(res.Logged))
				}
			})
		})
	}
}

// hasCapability reports whether this process has a capability.
func hasCapability(t *testing.T, number int) bool {
	t.Helper()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		t.Fatal(err)
	}
	return data[number/32].Effective>>(number%32)&1 == 1
}

// inJail runs a probe as root of a user namespace.
func inJail(t *testing.T, probe api.File) []corpus.Attempt {
	t.Helper()
	var e harness.Expectation
	e.Control.Script = "$PROBE"
	return harness.Attempts(t, runJailed(t, e, probe))
}

// asRoot runs a probe as the host's root, in its own directory and namespaces. Use it only for
// calls that do no harm there.
func asRoot(t *testing.T, probe api.File, args ...string) []corpus.Attempt {
	t.Helper()
	dir := harness.PublicDir(t, "hostile-root-")
	bin := filepath.Join(dir, probe.Name)
	if err := os.WriteFile(bin, probe.Content, 0o755); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
	defer cancel()

	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir, cmd.Env = dir, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as root: %v\n%s", err, out)
	}
	return harness.Attempts(t, out)
}
