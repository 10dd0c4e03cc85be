package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// printInodes prints the file systems and inodes that a run sees, and waits for its stdin to end.
const printInodes = `#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
int main(void) { struct stat st; char b; const char *p[] = {"/", "/bin/busybox", "/dev", "/dev/null"};
  for (int i = 0; i < 4; i++) { stat(p[i], &st); printf("%s %u:%u %lu\n", p[i], major(st.st_dev), minor(st.st_dev), (unsigned long)st.st_ino); }
  fflush(stdout); while (read(0, &b, 1) > 0); return 0; }`

// RES-25: no two runs in mode exclusive share a file of the image, and none shares one with the
// store; runs in mode strict do. This test compares devices and inodes;
// TestHostileChannelsOfAnImage shows what gets across.
func TestExclusiveRunsShareNothing(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "3", "--max-wall", "5m")
	var stays []*harness.HeldRun
	leave := func() {
		for _, s := range stays {
			s.Release()
		}
		stays = nil
	}

	seen := func(t *testing.T, mode api.Mode, name string) map[string]string {
		t.Helper()
		r := harness.Program(harness.CompileC(t, fmt.Sprintf("where-%s-%d", name, os.Getpid()), printInodes))
		r.Mode, r.Limits.Wall, r.Limits.Memory = mode, harness.Slowly(25), 64*api.MiB
		s := a.StartHeldRun(t, r)
		stays = append(stays, s)
		files := map[string]string{}
		for line := range strings.Lines(s.Said.String()) {
			path, id, _ := strings.Cut(strings.TrimSpace(line), " ")
			files[path] = id
		}

		if len(files) != 4 {
			t.Fatalf("%s: the run says %q", name, s.Said.String())
		}
		return files
	}

	same := func(t *testing.T, what string, one, other map[string]string, want bool) {
		t.Helper()
		for _, path := range []string{"/", "/bin/busybox"} {
			if (one[path] == other[path]) != want {
				t.Errorf("%s: %s is %s and %s; want the same: %v", what, path, one[path], other[path], want)
			}
		}
		if one["/dev/null"] == other["/dev/null"] {
			t.Errorf("%s: /dev/null is %s in both", what, one["/dev/null"])
		}
	}

	t.Run("strict", func(t *testing.T) {
		defer leave()
		same(t, "strict", seen(t, api.Strict, "s1"), seen(t, api.Strict, "s2"), true)
	})
	t.Run("exclusive", func(t *testing.T) {
		defer leave()
		strict, one, other := seen(t, api.Strict, "e1"), seen(t, api.Exclusive, "e2"), seen(t, api.Exclusive, "e3")
		same(t, "exclusive", one, other, false)
		same(t, "exclusive and strict", one, strict, false)
	})
}

// A run in mode exclusive differs from others only by the copy: the same files with the same
// owners, modes and times, no more memory in its measurement, a root that it cannot write to unless
// requested; and nothing is left of the copy.
func TestExclusiveRunsAreLikeOthers(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--memory", "1G")
	a.NeedPython(t)
	const listing = `
import os, sys, hashlib
h = hashlib.sha256()
for top, dirs, files in os.walk("/"):
    dirs[:] = sorted(d for d in dirs if top != "/" or d not in ("proc", "dev", "tmp", "box", "sys"))
    for name in sorted(dirs + files):
        p = os.path.join(top, name); s = os.lstat(p)
        h.update(repr((p, s.st_mode, s.st_uid, s.st_gid, s.st_mtime_ns, 0 if name in dirs else s.st_size, os.readlink(p) if os.path.islink(p) else "")).encode())
        if os.path.isfile(p) and not os.path.islink(p) and s.st_size < 1 << 16:
            try: h.update(open(p, "rb").read())
            except PermissionError: h.update(b"refused")
print(h.hexdigest())
try: print(open("/usr/new", "w").write("x"))
except OSError as e: print(e.strerror)
`

	for _, writable := range []bool{false, true} {
		var said [2]string
		var memory [2]int64
		for i, mode := range []api.Mode{api.Strict, api.Exclusive} {
			r := harness.Py(listing)
			r.Mode, r.WritableRoot, r.Limits = mode, writable, api.Limits{Memory: 256 * api.MiB}
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			said[i], memory[i] = string(res.Stdout), *res.Usage.Memory.Value
			if res.Host.Mode != mode {
				t.Errorf("the result says mode %s; want %s", res.Host.Mode, mode)
			}
		}

		if want := map[bool]string{false: "\nRead-only file system\n", true: "\n1\n"}[writable]; said[0] != said[1] ||
			!strings.HasSuffix(said[1], want) {
			t.Errorf("writable %v: strict says %q, exclusive %q", writable, said[0], said[1])
		}

		// The contents of the copy are not charged to the run. Its names are, 2.3 MiB for all of this image,
		// because no other run has looked them up. In mode strict another run may have.
		if memory[1] > memory[0]+int64(4*api.MiB) {
			t.Errorf("writable %v: memory %d in mode strict, %d in mode exclusive", writable, memory[0], memory[1])
		}
	}

	// The copy is reserved with the run's memory, and only while it exists.
	r := api.Run{Image: "python", Argv: []string{"/bin/true"}, Mode: api.Exclusive, Limits: api.Limits{Memory: 1000 * api.MiB}}
	if e := a.Refused(t, r, api.CodeAboveCeiling); !strings.Contains(e.Message, "copy of the image") {
		t.Errorf("refused with %q", e.Message)
	}

	r.Limits.Memory, r.Argv = 256*api.MiB, []string{"/bin/sleep", "1"}
	done := make(chan error, 1)
	go func() { _, err := a.Run(t.Context(), r); done <- err }()
	seen := int64(0)
	for deadline := harness.Patience(); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		h, err := a.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen = max(seen, h.Memory)
		if seen > 0 && h.Memory == 0 {
			break
		}
	}

	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if maximum := int64(330 * api.MiB); seen < maximum || seen > 2*maximum {
		t.Errorf("%d bytes were reserved at most; want some more than %d", seen, maximum)
	}
	if h, err := a.Health(t.Context()); err != nil || h.Memory != 0 || h.Leased != 0 {
		t.Errorf("after the run %+v, %v", h, err)
	}
}

// Both stages of a compiled language, and every test, have a copy. The artifact cache works as in
// other modes.
func TestExclusiveCompilesAndTests(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	harness.Images.Load(t, a, "cpp")
	r := api.Run{
		Language: "c", Mode: api.Exclusive,
		Source: api.Bytes("#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d %d\", &a, &b); printf(\"%d\\n\", a + b); }\n"),
		Tests: []api.Test{{ID: "1", Stdin: api.Bytes("1 2"), Expected: harness.Expected("3")},
			{ID: "2", Stdin: api.Bytes("4 5"), Expected: harness.Expected("9")}, {ID: "3", Stdin: api.Bytes("4 5"),
				Expected: harness.Expected("8")}},
	}
	res := a.MustRun(t, r)
	if res.Summary == nil || res.Summary.Accepted != 2 || res.Summary.Ran != 3 || res.Compile == nil {
		t.Errorf("%s: %+v", res.Verdict, res.Summary)
	}
}

// A session has no such mode; the refusal names the field.
func TestExclusiveIsForRuns(t *testing.T) {
	if _, err := decode.Value[api.SessionRequest]([]byte(`{"language":"python","mode":"exclusive"}`), "session"); err == nil ||
		!strings.Contains(err.Error(), `"mode"`) {
		t.Errorf("%v; want a refusal that names the field", err)
	}
}

// importBulkyImage stores an image of 64 MiB in large files and 4,000 small ones, with a program. Small
// files take long to copy, so a test can act meanwhile, also on a busy machine.
func importBulkyImage(t *testing.T, a *harness.Agent, program api.File) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	var err error
	for i := range 64 + 4000 {
		content := []byte{byte(i)}
		if i < 64 {
			content = bytes.Repeat(content, 1<<20)
		}
		herr := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("bulk/%d", i), Mode: 0o644, Size: int64(len(content))})
		_, werr := w.Write(content)
		err = errors.Join(err, herr, werr)
	}

	herr := w.WriteHeader(&tar.Header{Name: program.Name, Mode: 0o755, Size: int64(len(program.Content))})
	_, werr := w.Write(program.Content)
	if err := errors.Join(err, herr, werr, w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(t.Context(), &archive, "bulky", ""); err != nil {
		t.Fatal(err)
	}
}

// An image that is removed during a copy stays whole until the copy is done; then nothing of it is
// left in the store.
func TestExclusiveImageRemovedWhileCopied(t *testing.T) {
	a := startAgentAlone(t)
	done := harness.CompileC(t, "done", `int main(void) { return 0; }`)
	for range 2 {
		importBulkyImage(t, a, done)
		copying, ended := stopImageChild(t, a, "copy", func() error {
			res, err := a.Run(t.Context(),
				api.Run{Image: "bulky", Argv: []string{"/done"}, Mode: api.Exclusive, Limits: api.Limits{Wall: harness.Seconds(20)}})
			if err == nil && res.Verdict != api.OK {
				err = fmt.Errorf("verdict %s", res.Verdict)
			}
			return err
		})

		if err := a.RemoveImage(t.Context(), "bulky"); err != nil {
			t.Error(err)
		}
		if err := unix.PidfdSendSignal(copying, unix.SIGCONT, nil, 0); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the run whose image was removed meanwhile: %v", err)
		}

		for deadline := harness.Patience(); ; time.Sleep(20 * time.Millisecond) {
			left, err := filepath.Glob(filepath.Join(a.Data, "images", "work", "*"))
			if err != nil {
				t.Fatal(err)
			}
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("left in the store: %q", left)
			}
		}
	}
}

// An agent that is killed while it copies an image leaves no process, mount or group after brig
// cleanup. Neither does a caller that hangs up during the copy.
func TestExclusiveKilledWhileCopying(t *testing.T) {
	testenv.NeedRoot(t)
	pgrep := testenv.NeedTool(t, "pgrep", "procps")
	testenv.CleanHost(t)
	dir, data := harness.PublicDir(t, "brig-e2e-"), harness.PublicDir(t, "brig-data-")
	done := harness.CompileC(t, "done", `int main(void) { return 0; }`)
	a := harness.Launch(t, dir, data, "--slots", "1")
	importBulkyImage(t, a, done)
	ask := api.Run{Image: "bulky", Argv: []string{"/done"}, Mode: api.Exclusive, Limits: api.Limits{Wall: harness.Seconds(20)}}

	ctx, leave := context.WithCancel(t.Context())
	_, ended := stopImageChild(t, a, "copy", func() error { _, err := a.Run(ctx, ask); return err })
	leave()
	if err := <-ended; err == nil {
		t.Error("a run whose caller left ended well")
	}

	var res api.Result
	for deadline := harness.Patience(); ; time.Sleep(5 * time.Millisecond) { // once the other is gone
		var err error
		var e *api.Error
		if res, err = a.Run(t.Context(), ask); err == nil || !errors.As(err, &e) || e.Code != api.CodeBusy || time.Now().After(deadline) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}

	harness.WantVerdict(t, res, api.OK)

	_, ended = stopImageChild(t, a, "copy", func() error { _, err := a.Run(t.Context(), ask); return err })
	pid := a.Cmd.Process.Pid
	a.Kill()
	if err := <-ended; err == nil {
		t.Error("a run whose agent was killed ended well")
	}

	for deadline := harness.Patience(); exec.Command(pgrep, "-f", "^imagefiles copy").Run() == nil ||
		len(harness.Descendants(t, pid)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the copying outlives the agent")
		}
	}

	cleanUpAfterKill(t, filepath.Join(dir, "run"))
}

// cleanUpAfterKill removes what a killed agent left in its run directory, and demands that nothing
// remains.
func cleanUpAfterKill(t *testing.T, run string) {
	t.Helper()
	if out, err := exec.Command(harness.Binary(t, "brig"), "cleanup", "--run-dir", run).CombinedOutput(); err != nil {
		t.Errorf("brig cleanup: %v\n%s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(run, "*")); err != nil || len(left) != 0 {
		t.Errorf("left in the run directory: %q, %v", left, err)
	}
}

// The agent's mode is that of the runs that name none.
func TestExclusiveIsTheAgentsMode(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--mode", "exclusive")
	for asked, want := range map[api.Mode]api.Mode{"": api.Exclusive, api.Fresh: api.Fresh} {
		r := harness.Sh("exit 0")
		r.Mode = asked
		if res := a.MustRun(t, r); res.Verdict != api.OK || res.Host.Mode != want {
			t.Errorf("asked for mode %q: %s in mode %s; want %s", asked, res.Verdict, res.Host.Mode, want)
		}
	}
}
