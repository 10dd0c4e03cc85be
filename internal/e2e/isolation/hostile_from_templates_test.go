package isolation

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// neverFromTemplate are the cases that cannot be in a process that begins from a template, and the rule.
var neverFromTemplate = map[string]string{
	"MEM-15": "its code runs before main: in the stage that makes the template, under the limits of that stage (TPL-02)",
	"SEC-33": "its code runs before main of a static program, and templates are of dynamic ones",
}

// importProbes stores an image of the tiny one's files, the C library of this machine and the probes as
// a dynamic program. It returns the directory of its languages, one for each tier of the corpus: they
// begin from a template of the loader's work, so that the probe's own process is one that restore made.
func importProbes(t *testing.T, a *harness.Agent) {
	t.Helper()
	list, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	tiny := slices.IndexFunc(list, func(i api.Image) bool { return slices.Contains(i.Names, "tiny") })
	root := filepath.Join(a.Data, "images", "images", strings.TrimPrefix(list[tiny].Digest, "sha256:"), "root")
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err = w.AddFS(os.DirFS(root))
	for name, from := range map[string]string{
		"lib64/ld-linux-x86-64.so.2":     "/lib64/ld-linux-x86-64.so.2",
		"lib/x86_64-linux-gnu/libc.so.6": "/lib/x86_64-linux-gnu/libc.so.6",
		"probes":                         harness.Binary(t, "probes/dynamic"),
	} {
		content, rerr := os.ReadFile(from)
		herr := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))})
		_, werr := w.Write(content)
		err = errors.Join(err, rerr, herr, werr)
	}

	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(t.Context(), &archive, "probes", ""); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := a.RemoveImage(context.Background(), "probes"); err != nil {
			t.Error(err)
		}
	})
}

// probeLanguages writes a language for each tier of the corpus.
func probeLanguages(t *testing.T) (dir string) {
	t.Helper()
	dir = harness.PublicDir(t, "brig-languages-")
	for _, tier := range []string{"default", "strict", "managed"} {
		manifest := "name: probes-" + tier + "\nimage: probes\nsource_file: ready\nrun: [/probes, \"{source}\"]\ntier: " + tier +
			"\ntemplates: [{kind: loader, trial: ready}]\n"
		if err := os.WriteFile(filepath.Join(dir, "probes-"+tier+".yaml"), []byte(manifest), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fromTemplate is the run of a probe whose process begins from a template.
func fromTemplate(id, profile string, limits api.Limits, args ...string) api.Run {
	if profile == "" {
		profile = "default"
	}
	return api.Run{Language: "probes-" + profile, SourceName: id, Source: api.Bytes(id), Argv: args, Limits: limits}
}

// nameOf has the expectation expect a program that is executed by another name.
func nameOf(e *harness.Expectation, path string) {
	other := func(text string) string { return strings.ReplaceAll(text, "./"+e.ID, path) }
	for i := range e.Stdout {
		e.Stdout[i] = other(e.Stdout[i])
	}
	for _, allowed := range e.Only {
		for i := range allowed {
			allowed[i] = other(allowed[i])
		}
	}
}

// TPL-11. Every case of the corpus once more in a process that begins from a template, in a cell in
// which a run from a template has left as much as it could, next to a neighbour: each check of the case
// holds, and its result says that it began from a template. In mode fresh there is none.
func TestHostileFromTemplates(t *testing.T) {
	c := harness.NewCanaries(t)
	t.Setenv(corpus.EnvName, corpus.EnvSecret)
	a := harness.StartAgent(t, "--slots", "2", "--max-wall", "1h", "--max-cpu", "1h", "--languages", probeLanguages(t))
	importProbes(t, a)
	neighbour := newNeighbour(t, a)
	for _, e := range harness.Expectations(t) {
		t.Run(e.ID, func(t *testing.T) {
			if why := neverFromTemplate[e.ID]; why != "" {
				t.Skip(why)
			}

			r := e.Request(c)
			if e.Limits.Wall == 0 {
				r.Limits.Wall = max(r.Limits.Wall, harness.Slowly(4)) // SEC-19 makes 3000 calls
			}

			r = fromTemplate(e.ID, r.Profile, r.Limits, r.Argv[1:]...)
			left := a.MustRun(t, fromTemplate("residue", e.Profile, harness.HostileLimits()))
			harness.WantVerdict(t, left, api.OK)
			res := a.MustRun(t, r)
			if !left.Host.Template || !res.Host.Template || res.Host.Cold != "" {
				t.Errorf("it has not begun from a template: %+v, %+v", left.Host, res.Host)
			}

			nameOf(&e, "/probes")
			e.Absent = append(slices.Clone(e.Absent), neighbour.secret)
			e.CheckResult(t, c, res)
			c.Untouched(t)
			neighbour.untouched(t)
		})
	}

	r := fromTemplate("RES-22", "", harness.HostileLimits())
	r.Mode = api.Fresh
	if res := a.MustRun(t, r); res.Host.Template || !strings.Contains(res.Host.Cold, "mode fresh") {
		t.Errorf("in mode fresh: %+v", res.Host)
	}
}

// TPL-12. A template is a file without a name, which only the agent and its runs hold. When the agent is
// killed in the middle of a run from it, no process has it any more.
func TestKilledAgentLeavesNoTemplate(t *testing.T) {
	testenv.NeedRoot(t)
	dir := harness.PublicDir(t, "brig-e2e-")
	testenv.CleanHost(t)
	a := harness.Launch(t, dir, harness.DataDir(t))
	t.Cleanup(a.Stop)
	a.NeedPython(t)
	lasting := harness.Py("import time; print('begun', flush=True); time.sleep(60)")
	lasting.Limits.Wall = harness.Seconds(30)
	said, ended := &harness.FirstWriteWriter{Came: make(chan struct{})}, make(chan error, 1)
	go func() {
		_, err := a.RunStream(t.Context(), lasting, strings.NewReader(""), said, nil)
		ended <- err
	}()
	select {
	case <-said.Came:
	case err := <-ended:
		t.Fatalf("the run has ended: %v", err)
	}

	ours, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", a.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}

	ours = slices.DeleteFunc(ours, func(fd string) bool { return !strings.HasPrefix(link(fd), "/memfd:template") })
	if len(ours) == 0 {
		t.Fatal("the agent has no template")
	}

	var template unix.Stat_t
	if err := unix.Stat(ours[0], &template); err != nil {
		t.Fatal(err)
	}
	if before := holders(t, template); len(before) < 2 { // the agent and the run, and the shell of its cell
		t.Errorf("before the kill the processes %v have the template: the test proves nothing", before)
	}

	a.Kill()
	var e *api.Error
	if err := <-ended; !errors.As(err, &e) || e.Code != api.CodeAgentGone {
		t.Errorf("the run ends with %v", err)
	}

	for deadline := harness.Patience(); len(holders(t, template)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes %v have the template of a dead agent", holders(t, template))
		}
	}

	harness.Launch(t, dir, harness.DataDir(t)).Stop() // it removes the groups of the dead one
}

// holders lists the processes that execute a file or have it open.
func holders(t *testing.T, file unix.Stat_t) (pids []string) {
	t.Helper()
	var all []string
	for _, pattern := range []string{"/proc/[0-9]*/exe", "/proc/[0-9]*/fd/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}

	for _, path := range all {
		var st unix.Stat_t
		if !strings.HasPrefix(link(path), "/memfd:") || unix.Stat(path, &st) != nil { // it has ended, or is another file
			continue
		}
		if pid := strings.Split(path, "/")[2]; st.Dev == file.Dev && st.Ino == file.Ino && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}

	return pids
}

// link is where a link leads; empty: nowhere any more.
func link(path string) string {
	to, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return to
}
