package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// unifiedHost reports whether this host has cgroup v2 alone.
func unifiedHost(t testing.TB) bool {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &st); err != nil {
		t.Fatal(err)
	}
	return st.Type == unix.CGROUP2_SUPER_MAGIC
}

// timedExec executes a command in a session and returns how long it ran.
func (a *agent) timedExec(t testing.TB, id, script string) time.Duration {
	t.Helper()
	res := a.execute(t, id, api.Exec{Argv: []string{"sh", "-c", script}, Limits: api.Limits{Wall: seconds(30)}})
	wantVerdict(t, res, api.OK)
	return time.Duration(res.Timing.Wall)
}

// With a rate, what a session reads from its volume and what it writes there is slowed down, the
// page cache included; without one it is not: the positive control. The end of a session does not
// wait until a program has written at that rate what it was writing.
func TestVolumeRate(t *testing.T) {
	if !unifiedHost(t) {
		t.Skip("this host has control groups v1") // TestVolumeRateIsRefused is for it
	}

	const mib, rate = 20, 5 // so 4 s
	size := func(v *api.VolumeRequest) { v.Size = 128 * api.MiB }
	write := fmt.Sprintf("dd if=/dev/zero of=/workspace/a bs=1M count=%d conv=fsync", mib)
	read := "dd if=/workspace/a of=/dev/null bs=1M"
	took := map[string]time.Duration{}
	for _, limited := range []bool{false, true} {
		t.Run(fmt.Sprintf("limited %v", limited), func(t *testing.T) {
			var flags []string
			if limited {
				flags = []string{"--volume-rate", fmt.Sprintf("%dM", rate)}
			}

			a := volumeAgent(t, flags...)
			s := a.volumeSession(t, "v", size)
			took[fmt.Sprint("write", limited)] = a.timedExec(t, s.ID, write)
			a.endSession(t, s.ID) // nothing of the volume is cached any more
			s = a.volumeSession(t, "v", size)
			took[fmt.Sprint("read", limited)] = a.timedExec(t, s.ID, read)
			waiting := make(chan struct{})
			go func() { // joined below; it is canceled by the end of the session, or has ended
				defer close(waiting)
				_, _ = a.Exec(t.Context(), s.ID,
					api.Exec{Argv: []string{"sh", "-c", strings.Replace(write, fmt.Sprint(mib), "50", 1)}, Limits: api.Limits{Wall: seconds(30)}})
			}()

			time.Sleep(2 * time.Second)
			begun := time.Now()
			a.endSession(t, s.ID)
			took[fmt.Sprint("end", limited)] = time.Since(begun)
			<-waiting
		})
	}

	t.Logf("%v", took)
	const minimum = mib / rate * time.Second * 3 / 4
	for _, way := range []string{"write", "read"} {
		if took[way+"true"] < minimum || took[way+"false"] > minimum {
			t.Errorf("%s of %d MiB took %v, and %v at %d MiB a second", way, mib, took[way+"false"], took[way+"true"], rate)
		}
	}

	if took["endtrue"] > took["endfalse"]+3*time.Second {
		t.Errorf("the end of the session took %v: it waits for the rate", took["endtrue"])
	}
}

func TestVolumeRateIsRefused(t *testing.T) {
	testenv.NeedRoot(t)
	cases := map[string]string{"100K": "--volume-rate is 100K: the least is 1M", "fast": `size "fast"`}
	if !unifiedHost(t) {
		cases["100M"] = "a rate of disk reads and writes (io.max) is missing: it needs control groups v2 with the io controller"
	}

	for rate, says := range cases {
		dir := publicDir(t, "brig-e2e-")
		testenv.CleanHost(t)
		cmd := exec.Command(binary(t, "brigd"), "--socket", filepath.Join(dir, "s"), "--data-dir", dataDir(t), "--run-dir",
			filepath.Join(dir, "run"), "--volume-rate", rate)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), says) {
			t.Errorf("brigd --volume-rate %s: %v; want exit code 1 and %q\n%s", rate, err, says, out)
		}
	}
}
