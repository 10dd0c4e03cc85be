package isolation

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	goruntime "runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// CAP-05, CAP-09: an agent that is started with supplementary groups, with signals ignored and
// others blocked, passes none of that on to a run.
func TestHostileNothingOfTheAgentIsInherited(t *testing.T) {
	testenv.NeedRoot(t)
	groups, err := syscall.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setgroups([]int{4, 20, 27}); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := syscall.Setgroups(groups); err != nil {
			t.Errorf("take the groups back: %v", err)
		}
	})

	signal.Ignore(unix.SIGHUP, unix.SIGPIPE, unix.SIGUSR1)
	t.Cleanup(func() { signal.Reset(unix.SIGHUP, unix.SIGPIPE, unix.SIGUSR1) })
	goruntime.LockOSThread() // a mask belongs to a thread, and its children inherit it
	defer goruntime.UnlockOSThread()

	var old unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK,
		&unix.Sigset_t{Val: [16]uint64{1<<(unix.SIGUSR2-1) | 1<<(unix.SIGWINCH-1)}}, &old); err != nil {
		t.Fatal(err)
	}

	a := harness.StartAgent(t, "--slots", "1")
	argv := []string{"grep", "-E", "^(Groups|Sig(Blk|Ign|Cgt)):", "/proc/self/status"}
	outside, err := exec.Command(testenv.NeedTool(t, "busybox", "busybox-static"), argv...).Output()
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); err != nil {
		t.Fatal(err)
	}

	for _, re := range []string{`Groups:\t4 20 27`, `SigBlk:\t0*8000800\n`, `SigIgn:\t[0-9a-f]*1201\n`} {
		if err != nil || !regexp.MustCompile(re).Match(outside) {
			t.Errorf("outside, %q is missing: the test proves nothing: %v\n%s", re, err, outside)
		}
	}

	agent, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.Cmd.Process.Pid))
	if err != nil || !bytes.Contains(agent, []byte("Groups:\t4 20 27")) {
		t.Errorf("the agent itself has not got the groups: %v\n%s", err, agent)
	}

	want := []byte("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		res := a.MustRun(t, api.Run{Image: "tiny", Argv: argv, Mode: mode})
		if !regexp.MustCompile(`(?m)^Groups:\s*$`).Match(res.Stdout) || !bytes.Contains(res.Stdout, want) {
			t.Errorf("a run has\n%s", res.Stdout)
		}
	})
}

// The umask that an agent was started with, such as that of a careful root's shell, has no effect:
// runs work, and have the usual umask.
func TestAgentOfAnyUmask(t *testing.T) {
	testenv.NeedRoot(t)

	for _, umask := range []int{0o077, 0} {
		t.Run(fmt.Sprintf("%03o", umask), func(t *testing.T) {
			data := harness.DataDir(t) // the files that exist already have their modes
			dir := harness.PublicDir(t, "brig-e2e-")
			testenv.CleanHost(t)
			old := unix.Umask(umask)
			t.Cleanup(func() { unix.Umask(old) })
			a := harness.Launch(t, dir, data)
			t.Cleanup(a.Stop)
			res := a.MustRun(t, harness.Sh("umask"))
			harness.WantVerdict(t, res, api.OK)
			if got := string(res.Stdout); got != "0022\n" {
				t.Errorf("the run's umask is %q; want 0022", got)
			}
		})
	}
}

// PRC-09: an agent whose own limits are lower than a cell's still creates cells, with its own
// limits: to raise them takes CAP_SYS_RESOURCE, which a confined root lacks.
func TestHostileAgentOfLowLimits(t *testing.T) {
	testenv.NeedRoot(t)
	data, dir := harness.DataDir(t), harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := harness.LaunchAfter(t, dir, data, func(pid int) {
		for resource, maximum := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_SIGPENDING: 512} {
			if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: maximum, Max: maximum}, nil); err != nil {
				t.Errorf("limit the agent: %v", err)
			}
		}
	}, "--slots", "1")

	t.Cleanup(a.Stop)
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		r := harness.Sh("cat /proc/self/limits")
		r.Mode = mode
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		for _, re := range []string{`Max core file size +0 +0 `, `Max pending signals +512 +512 `} {
			if !regexp.MustCompile(re).Match(res.Stdout) {
				t.Errorf("no %q in\n%s", re, res.Stdout)
			}
		}
	})
}
