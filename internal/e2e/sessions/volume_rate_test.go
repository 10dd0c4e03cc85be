package sessions

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// timedExec executes a command in a session and returns how long it ran.
func timedExec(t testing.TB, a *harness.Agent, id, script string) time.Duration {
	t.Helper()
	res := a.MustExec(t, id, api.Exec{Argv: []string{"sh", "-c", script}, Limits: api.Limits{Wall: harness.Seconds(30)}})
	harness.WantVerdict(t, res, api.OK)
	return time.Duration(res.Timing.Wall)
}

// With a rate, what a session reads from its volume and what it writes there is slowed down, the
// page cache included; without one it is not: the positive control. The end of a session does not
// wait until a program has written at that rate what it was writing.
func TestVolumeRate(t *testing.T) {
	if !harness.UnifiedHost(t) {
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

			a := harness.VolumeAgent(t, flags...)
			s := volumeSession(t, a, "v", size)
			took[fmt.Sprint("write", limited)] = timedExec(t, a, s.ID, write)
			endSession(t, a, s.ID) // nothing of the volume is cached any more
			s = volumeSession(t, a, "v", size)
			took[fmt.Sprint("read", limited)] = timedExec(t, a, s.ID, read)
			waiting := make(chan struct{})
			go func() { // joined below; it is canceled by the end of the session, or has ended
				defer close(waiting)
				_, _ = a.Exec(t.Context(), s.ID,
					api.Exec{Argv: []string{"sh", "-c", strings.Replace(write, fmt.Sprint(mib), "50", 1)}, Limits: api.Limits{Wall: harness.Seconds(30)}})
			}()

			time.Sleep(2 * time.Second)
			begun := time.Now()
			endSession(t, a, s.ID)
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
	if !harness.UnifiedHost(t) {
		cases["100M"] = "a rate of disk reads and writes (io.max) is missing: it needs control groups v2 with the io controller"
	}

	for rate, says := range cases {
		dir := harness.PublicDir(t, "brig-e2e-")
		testenv.CleanHost(t)
		cmd := exec.Command(harness.Binary(t, "brigd"), "--socket", filepath.Join(dir, "s"), "--data-dir", harness.DataDir(t), "--run-dir",
			filepath.Join(dir, "run"), "--volume-rate", rate)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), says) {
			t.Errorf("brigd --volume-rate %s: %v; want exit code 1 and %q\n%s", rate, err, says, out)
		}
	}
}
