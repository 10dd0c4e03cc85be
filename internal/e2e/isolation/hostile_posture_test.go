package isolation

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// NS-18: how a running run looks from the host.
func TestHostilePosture(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		marker := fmt.Sprintf("posture-%d-%s", os.Getpid(), mode)
		probe := harness.CompileC(t, marker, `#include <pthread.h>
#include <unistd.h>
static void *idle(void *x) { pause(); return 0; }
int main(void) { pthread_t t[3]; for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, idle, 0); write(1, "begun", 5); char b; while (read(0, &b, 1) > 0); return 0; }`)
		r := harness.Program(probe)
		r.Mode, r.Limits = mode, harness.HostileLimits()
		r.Limits.Wall = harness.Seconds(30)
		s := a.StartHeldRun(t, r)
		defer s.Release()

		pid := s.Pid
		for _, ns := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
			inside, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, ns))
			if err != nil {
				t.Fatal(err)
			}
			if host, err := os.Readlink("/proc/self/ns/" + ns); err != nil || host == inside {
				t.Errorf("namespace %s is the host's: %s, %v", ns, inside, err)
			}
		}

		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil || len(tasks) != 4 {
			t.Fatalf("%d threads, %v; want 4", len(tasks), err)
		}

		for _, task := range tasks {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()))
			if err != nil {
				t.Fatal(err)
			}

			for _, line := range strings.Split(string(status), "\n") {
				key, value, _ := strings.Cut(line, ":")
				f := strings.Fields(value)
				switch key {
				case "Uid", "Gid":
					for _, id := range f {
						if n, err := strconv.Atoi(id); err != nil || n < 65536 || id != f[0] {
							t.Errorf("thread %s has %s", task.Name(), line)
						}
					}

				case "Groups":
					if len(f) != 0 {
						t.Errorf("thread %s has %s", task.Name(), line)
					}
				case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
					if strings.Trim(f[0], "0") != "" {
						t.Errorf("thread %s has %s", task.Name(), line)
					}
				case "NoNewPrivs", "Seccomp":
					if want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}[key]; f[0] != want {
						t.Errorf("thread %s has %s; want %s", task.Name(), line, want)
					}
				}
			}
		}

		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil || len(fds) != 3 {
			t.Errorf("%d descriptors, %v; want 3", len(fds), err)
		}

		for _, d := range fds {
			to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, d.Name()))
			if err != nil || !strings.HasPrefix(to, "pipe:") {
				t.Errorf("descriptor %s is %s, %v; want a pipe", d.Name(), to, err)
			}
		}
	})
}

// FS-20: the whole corpus of writers leaves the image's bytes unchanged, as seen by the host and by
// another cell.
func TestHostileImageIsUnchanged(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	list := func() (host map[string]string, cell string) {
		host = map[string]string{}
		err := filepath.WalkDir(filepath.Join(harness.DataDir(t), "images"), func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "work" {
				return fs.SkipDir // where other tests build images and install packages
			}
			if err != nil || !d.Type().IsRegular() || len(host) >= 50 {
				return err
			}
			b, err := os.ReadFile(p)
			host[p] = fmt.Sprintf("%x", sha256.Sum256(b))
			return err
		})
		if err != nil || len(host) == 0 {
			t.Fatalf("%d files of the store, %v", len(host), err)
		}

		r := harness.Sh("find /bin /etc /lib /usr -type f 2>/dev/null | sort | head -50 | xargs sha256sum")
		r.Mode, r.Limits = api.Fresh, harness.HostileLimits()
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if len(res.Stdout) < 64 {
			t.Fatalf("the cell hashed nothing: %q", res.Stderr)
		}
		return host, string(res.Stdout)
	}

	hostBefore, cellBefore := list()
	for _, id := range []string{"FS-01", "FS-08", "FS-27", "SEC-21", "residue"} {
		r := harness.Program(harness.BuildProbe(t, id))
		r.Limits = harness.HostileLimits()
		harness.WantVerdict(t, a.MustRun(t, r), api.OK)
	}

	hostAfter, cellAfter := list()
	if cellAfter != cellBefore {
		t.Errorf("another cell sees\n%s\nit saw\n%s", cellAfter, cellBefore)
	}

	for p, sum := range hostBefore {
		if hostAfter[p] != sum {
			t.Errorf("%s has changed", p)
		}
	}
}
