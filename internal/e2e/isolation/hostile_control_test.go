package isolation

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// runControl shows that the probe can reach its goal where nothing, or one layer less, stops it. A
// case without a control proves nothing.
func runControl(t *testing.T, e harness.Expectation, a *harness.Agent, c harness.Canaries, probe api.File) {
	k := e.Control
	switch {
	case k.Off != nil:
		withLayerOff(t, e, a, c)
	case k.Script != "":
		runJailed(t, e, probe)
	case len(k.Reached)+len(k.Stdout)+len(k.Differs) > 0 || k.Canary != "":
		runBare(t, e, c, probe)
	default:
		t.Fatal("the case has no control")
	}
}

func withLayerOff(t *testing.T, e harness.Expectation, a *harness.Agent, c harness.Canaries) {
	off := e.Control.Off
	r := e.Request(c)
	r.WritableRoot, r.Limits = off.WritableRoot, off.Limits.Over(r.Limits)
	if off.MemoryOver > 0 { // a slow machine needs longer to fill it
		r.Limits.Wall = api.Duration(harness.Slow(time.Duration(r.Limits.Wall)))
	}
	if slices.Contains(off.Verdicts, api.WallLimit) { // and a busy one to get that far
		r.Limits.Wall = max(r.Limits.Wall, harness.Slowly(3))
		r.Limits.CPU = max(r.Limits.CPU, 2*r.Limits.Wall) // which it must not meet before
	}
	if off.Log {
		r.ProfileMode = api.Log
	}

	res := a.MustRun(t, r)
	if len(off.Verdicts) > 0 && !slices.Contains(off.Verdicts, res.Verdict) {
		t.Errorf("with the layer off: verdict %s; want %v", res.Verdict, off.Verdicts)
	}

	got := map[string]string{}
	for _, x := range harness.Attempts(t, res.Stdout) {
		got[x.Call] = x.Errno
	}

	for call, want := range off.Errno {
		if !slices.Contains(want, got[call]) {
			t.Errorf("with the layer off, %s: %q; want %v", call, got[call], want)
		}
	}

	if used := res.Usage.Memory.Value; off.MemoryOver > 0 && (used == nil || *used <= int64(off.MemoryOver)) {
		t.Errorf("with the layer off: memory %+v; want more than %s", res.Usage.Memory, off.MemoryOver)
	}

	checkReached(t, e, res.Stdout)
	checkOutput(t, e, slices.Concat(res.Stdout, []byte("\n"), res.Stderr))
}

// checkReached demands that the control's calls succeeded where those of the case must fail.
func checkReached(t *testing.T, e harness.Expectation, out []byte) {
	t.Helper()
	got := map[string]string{}
	for _, a := range harness.Attempts(t, out) {
		got[a.Call] = a.Errno
	}

	for _, call := range e.Control.Reached {
		if got[call] != "0" {
			t.Errorf("in the control, %s gives %q: the probe proves nothing\n%.2000s", call, got[call], out)
		}
	}

	for _, call := range e.Control.Differs {
		if held, _ := e.Wanted(call); got[call] == "" || slices.Contains(held, got[call]) {
			t.Errorf("in the control, %s gives %q as in the cage: the probe proves nothing", call, got[call])
		}
	}
}

// checkOutput demands the output that the control must print.
func checkOutput(t *testing.T, e harness.Expectation, out []byte) {
	t.Helper()
	for _, re := range e.Control.Stdout {
		if !regexp.MustCompile("(?m)" + re).Match(out) {
			t.Errorf("the control's output does not match %q: the probe proves nothing\n%.2000s", re, out)
		}
	}
}

// jailIDs is the first id of a jail; no user and no slot has it.
const jailIDs = 0x70000000

// runJailed runs the control's script as root of namespaces that end with it, in its own directory:
// there a probe that would harm the host can reach its goal. $PROBE is the probe; processes that
// are still running at the end are printed. jailed returns the whole output.
func runJailed(t *testing.T, e harness.Expectation, probe api.File) []byte {
	busybox := testenv.NeedTool(t, "busybox", "busybox-static")
	root := harness.PublicDir(t, "hostile-jail-")
	sh, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}

	residue := harness.BuildProbe(t, "residue")
	for name, content := range map[string][]byte{"busybox": sh, "box/" + probe.Name: probe.Content, "box/residue": residue.Content,
		"etc/passwd": nil, "dev/null": nil} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for _, d := range []string{"proc", "tmp", "dev/shm", "dev/mqueue"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	err = filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(p, jailIDs, jailIDs)
	})
	if err != nil {
		t.Fatal(err)
	}

	script := "/busybox mount -t proc proc /proc || exit 9; cd /box; PROBE=./" + probe.Name + "\n" + e.Control.Script +
		"\nfor p in /proc/[0-9]*; do read -r name < $p/comm && echo \"alive $name\"; done 2>&1\n"
	ctx, cancel := context.WithDeadline(t.Context(), harness.Patience())
	defer cancel()

	cmd := exec.CommandContext(ctx, "/busybox", "sh", "-c", script)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/"}
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ids := []syscall.SysProcIDMap{{HostID: jailIDs, Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{}, Pdeathsig: syscall.SIGKILL,
		Cloneflags:   unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET,
		Unshareflags: unix.CLONE_NEWNS, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
	}

	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		t.Fatalf("jail: %v\n%s", err, &out)
	}

	checkReached(t, e, out.Bytes())
	checkOutput(t, e, out.Bytes())
	return out.Bytes()
}
