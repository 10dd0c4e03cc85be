package images

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// startAgentAlone is harness.StartAgent with its own store, whose trees a test may change without the
// importer.
func startAgentAlone(t *testing.T) *harness.Agent {
	t.Helper()
	testenv.NeedRoot(t)
	dir, err := os.MkdirTemp(filepath.Dir(harness.DataDir(t)), "brig-e2e-") // its file system has idmapped mounts
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.Chmod(dir, 0o711), os.Mkdir(data, 0o711)); err != nil {
		t.Fatal(err)
	}

	testenv.CleanHost(t)
	a := harness.Launch(t, dir, data, "--slots", "1")
	t.Cleanup(a.Stop)
	return a
}

// An image that is removed and imported again has a new tree: no cell of the earlier image, whose
// files are gone, serves its runs.
func TestImageImportedAgain(t *testing.T) {
	a := startAgentAlone(t)
	probe := harness.CompileC(t, "there", `int main(void) { return 0; }`)
	for range 2 {
		a.ImportImage(t, "again", probe, 0o755)
		r := api.Run{Image: "again", Argv: []string{"/" + probe.Name}, Limits: harness.HostileLimits()}
		for range 2 {
			harness.WantVerdict(t, a.MustRun(t, r), api.OK)
		}
		if err := a.RemoveImage(t.Context(), "again"); err != nil {
			t.Fatal(err)
		}
	}
}

// A run continues with the image that it began with, although that is removed; the tree is deleted
// when its last cell is gone.
func TestImageRemovedUnderARun(t *testing.T) {
	a := startAgentAlone(t)
	probe := harness.CompileC(t, "reads", `#include <stdio.h>
#include <unistd.h>
int main(int c, char **v) { puts("begun"); fflush(stdout); char b[8]; if (read(0, b, 1) != 1) return 2;
  FILE *f = fopen(v[0], "r"); if (!f) { perror(v[0]); return 3; } return fread(b, 1, 4, f) != 4; }`)
	store := filepath.Join(a.ImportImage(t, "short-lived", probe, 0o755), "../../..")
	trees := func() []string {
		t.Helper()
		var out []string
		for _, pattern := range []string{"images/*/root/" + probe.Name, "work/*/gone/root/" + probe.Name} {
			found, err := filepath.Glob(filepath.Join(store, pattern))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, found...)
		}
		return out
	}
	if got := trees(); len(got) != 1 {
		t.Fatalf("the image is not where the test looks: %v", got)
	}

	r := api.Run{Image: "short-lived", Argv: []string{"/" + probe.Name}, Limits: harness.HostileLimits()}
	goOn, goesOn := io.Pipe()
	said, says := io.Pipe()
	var res api.Result
	var err error
	var running sync.WaitGroup
	running.Go(func() {
		res, err = a.RunStream(t.Context(), r, goOn, says, io.Discard)
		says.Close()
	})
	if _, err := said.Read(make([]byte, 8)); err != nil { // it has begun
		t.Fatal(err)
	}
	if err := a.RemoveImage(t.Context(), "short-lived"); err != nil {
		t.Fatal(err)
	}

	a.Refused(t, r, api.CodeNoImage)
	if got := trees(); len(got) != 1 || !strings.Contains(got[0], "/gone/") {
		t.Errorf("while a run has the removed image it lies at %v", got)
	}
	if _, werr := goesOn.Write([]byte("\n")); werr != nil {
		t.Fatal(werr)
	}

	running.Wait()
	if err != nil {
		t.Fatal(err)
	}

	harness.WantVerdict(t, res, api.OK)

	// The cell is destroyed at the pool's next scan; another removal triggers a scan at once.
	for end := time.Now().Add(time.Minute); len(trees()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still there: %v", trees())
		}
		_ = a.RemoveImage(t.Context(), "short-lived")
	}
}

// runOutside runs a stored file on the host, as nobody.
func runOutside(t *testing.T, path string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	return string(out)
}

// FS-10, FS-11: a file of the image that is setuid, or has a capability, gives a run nothing. The
// importer clears both, so the test restores them; outside, the same file raises the privileges of
// its caller.
func TestHostilePrivilegedFilesOfAnImage(t *testing.T) {
	a := startAgentAlone(t)
	helper := harness.CompileC(t, "helper", `#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
int main(void) { char l[200]; FILE *f = fopen("/proc/self/status", "r"); printf("uid %d gid %d", geteuid(), getegid());
  while (fgets(l, sizeof l, f)) if (!strncmp(l, "CapEff", 6)) printf(" %s", strtok(l + 7, "\t\n")); printf(" secure %lu\n", getauxval(AT_SECURE)); return 0; }`)

	const none = "uid 1000 gid 1000 0000000000000000 secure 0\n"
	const netRaw = 13                                  // linux/capability.h
	v2 := make([]byte, 20)                             // struct vfs_cap_data, little-endian
	v2[0], v2[3], v2[4+netRaw/8] = 1, 2, 1<<(netRaw%8) // effective, revision 2, permitted

	for _, tt := range []struct {
		name    string
		raise   func(path string) error
		outside string
	}{
		{"setuid", func(path string) error { return os.Chmod(path, 0o755|os.ModeSetuid|os.ModeSetgid) }, "uid 0 gid 0 "},
		{"capability", func(path string) error { return unix.Setxattr(path, "security.capability", v2, 0) },
			"uid 65534 gid 65534 0000000000002000 secure 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			helper.Name = tt.name
			path := filepath.Join(a.ImportImage(t, tt.name, helper, 0o6755), tt.name)
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o755 {
				t.Errorf("imported as %v, %v; want 0755", info, err)
			}
			if err := tt.raise(path); err != nil {
				t.Fatal(err)
			}
			if out := runOutside(t, path); !strings.HasPrefix(out, tt.outside) {
				t.Fatalf("outside it is %q: the test proves nothing", out)
			}

			for _, r := range []api.Run{{Mode: api.Strict}, {Mode: api.Fresh}, {WritableRoot: true}} {
				r.Image, r.Argv = tt.name, []string{"/" + tt.name}
				res := a.MustRun(t, r)
				harness.WantVerdict(t, res, api.OK)
				if string(res.Stdout) != none {
					t.Errorf("mode %q, writable root %v: %q; want %q", r.Mode, r.WritableRoot, res.Stdout, none)
				}
			}
		})
	}
}

// FS-09, a device in an image: nodev applies even if the importer let a device node pass. Outside,
// the same node opens.
func TestHostileDeviceOfAnImage(t *testing.T) {
	a := startAgentAlone(t)
	opens := harness.CompileC(t, "opens", `#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
int main(void) { int f = open("/node", O_RDWR); puts(f < 0 ? strerrorname_np(errno) : "open"); return 0; }`)

	node := filepath.Join(a.ImportImage(t, "node", opens, 0o755), "node")
	if err := errors.Join(unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))), os.Chmod(node, 0o666)); err != nil {
		t.Fatal(err)
	}

	f, err := os.OpenFile(node, os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("outside: %v: the test proves nothing", err)
	}

	f.Close()
	for _, r := range []api.Run{{Mode: api.Strict}, {Mode: api.Fresh}, {WritableRoot: true}} {
		r.Image, r.Argv = "node", []string{"/opens"}
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != "EACCES\n" {
			t.Errorf("mode %q, writable root %v: %q; want EACCES", r.Mode, r.WritableRoot, res.Stdout)
		}
	}
}

// A victim is a directory of the host that no cell may change.
type victim struct{ dir, secret string }

func newVictim(t *testing.T) victim {
	t.Helper()
	dir := harness.PublicDir(t, "hostile-victim-")
	v := victim{dir, filepath.Join(dir, "secret")}
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(v.secret, []byte(corpus.Secret), 0o666), os.Chmod(v.secret, 0o666)); err != nil {
		t.Fatal(err)
	}
	return v
}

// untouched demands that the victim is unchanged, also as the agent sees it.
func (v victim) untouched(t *testing.T, a *harness.Agent) {
	t.Helper()
	list, err := os.ReadDir(v.dir)
	if err != nil || len(list) != 1 {
		t.Errorf("the victim holds %v, %v; want its secret alone", list, err)
	}
	if text, err := os.ReadFile(v.secret); err != nil || string(text) != corpus.Secret {
		t.Errorf("the victim's secret is %q, %v", text, err)
	}

	for path, want := range map[string]os.FileMode{v.dir: os.ModeDir | 0o777, v.secret: 0o666} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, %v; want %v", path, info.Mode(), err, want)
		}
	}

	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", a.Cmd.Process.Pid))
	if err != nil || strings.Contains(string(mounts), filepath.Base(v.dir)) {
		t.Errorf("the agent has mounts in the victim, %v", err)
	}
}

// touch tries what an image with links would let a run reach, and prints what it finds; it is
// harmless.
const touch = `#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
int main(int c, char **v) {
  static const char *const dir[] = {"/dev", "/proc", "/sys", "/tmp", "/box", "/dev/shm", "/dev/pts"}; char p[300]; struct stat st;
  for (int i = 0; i < 7; i++) {
    snprintf(p, sizeof p, "%s/written", dir[i]); int f = open(p, O_CREAT | O_WRONLY, 0666); if (f >= 0) { write(f, "written", 7); close(f); }
    snprintf(p, sizeof p, "%s/secret", dir[i]); if (open(p, O_RDWR) >= 0) printf("reached %s\n", p);
  }
  int f = open("/dev/null", O_WRONLY); write(f, "written", 7);
  if (open(v[1], O_RDWR) >= 0) puts("reached the victim");
  puts(!stat("/dev/null", &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3) ? "null is null" : "null is something else");
  return 0; }`

// FS-23, FS-24: an image whose system directories, or entries in them, are links that lead out
// either does not start, or the links stay inside. The importer replaces them with directories, so
// the test restores the links; on the host they lead to the victim.
func TestHostileLinksInPlacesOfAnImage(t *testing.T) {
	a := startAgentAlone(t)
	probe := harness.CompileC(t, "touch", touch)
	for i, tt := range []struct {
		name  string
		links []string // to the victim's directory
		files []string // to its secret
		opens bool     // starts, whatever the links are
	}{
		{"dev (FS-23)", []string{"dev"}, nil, false},
		{"proc (FS-23)", []string{"proc"}, nil, false},
		{"sys (FS-23)", []string{"sys"}, nil, true},
		{"tmp (FS-23)", []string{"tmp"}, nil, false},
		{"box (FS-23)", []string{"box"}, nil, false},
		{"all of them (FS-23)", []string{"dev", "proc", "sys", "tmp", "box"}, nil, false},
		{"what hides files (FS-24)", nil, []string{"dev/null"}, true},
		{"other devices (FS-24)", []string{"dev/pts", "dev/shm", "dev/mqueue", "dev/fd"}, []string{"dev/console", "dev/ptmx"}, true},
		{"what is hidden (FS-24)", []string{"proc/self", "proc/sys"}, []string{"proc/sysrq-trigger", "proc/kcore", "proc/keys"}, true},
	} {
		ways := []string{"absolute", "relative", "also inside"}
		if harness.Slow(1) > 1 || !harness.Long() { // one way per case, and all ways in turn
			ways = ways[i%3:][:1]
		}

		for _, way := range ways {
			t.Run(tt.name+" "+way, func(t *testing.T) {
				v := newVictim(t)
				name := fmt.Sprintf("links-%d-%s", i, strings.ReplaceAll(way, " ", "-"))
				tree := a.ImportImage(t, name, api.File{Name: name}, 0o644)
				up := ""
				switch way {
				case "relative":
					up = strings.Repeat("../", 40)
				case "also inside": // the image has a directory where the host has the victim
					if err := os.MkdirAll(filepath.Join(tree, v.dir), 0o755); err != nil {
						t.Fatal(err)
					}
				}

				for _, at := range tt.links {
					linkToVictim(t, filepath.Join(tree, at), up+v.dir, "secret")
				}

				for _, at := range tt.files {
					linkToVictim(t, filepath.Join(tree, at), up+v.secret, "")
				}

				for _, writable := range []bool{false, true} {
					r := harness.Program(probe, v.secret)
					r.Image, r.WritableRoot, r.Limits = name, writable, harness.HostileLimits()
					res, err := a.Run(t.Context(), r)
					var e *api.Error
					switch {
					case errors.As(err, &e) && e.Code == api.CodeInternal && !tt.opens:
						if !strings.Contains(e.Message, "cell") { // the error names the failed step, not a lost connection
							t.Errorf("writable root %v: %q does not say why", writable, e.Message)
						}
					case err != nil:
						t.Errorf("writable root %v: %v", writable, err)
					case res.Verdict != api.OK || string(res.Stdout) != "null is null\n":
						t.Errorf("writable root %v: verdict %s, %q", writable, res.Verdict, res.Stdout)
					}

					v.untouched(t, a)
				}
			})
		}
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
}

// linkToVictim creates a link at path that leads to the victim, and verifies that it does.
func linkToVictim(t *testing.T, path, to, secret string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(path, secret)); err != nil || string(text) != corpus.Secret {
		t.Fatalf("on the host %s leads to %q, %v: the test proves nothing", path, text, err)
	}
}
