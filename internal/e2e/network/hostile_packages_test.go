package network

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// PKG-01. A source package that is built executes what its author wants. It reaches the index and nothing
// else, sees no other process, meets its limits, and leaves nothing behind.
func TestHostileBuilds(t *testing.T) {
	dir := manifestWithInstaller(t, fmt.Sprintf("{wall: %s, cpu: %s, memory: 512M, scratch: 128M, pids: 64}", harness.Slowly(20), harness.Slowly(20)))
	a, x := startInstaller(t, "--languages", dir), newIndex(t)
	elsewhere := webServer(t)
	host, port, _ := strings.Cut(elsewhere, ":")
	x.source(t, "looks", "1.0", map[string]string{"backend.py": builtWheel("looks", "1.0", fmt.Sprintf(`
import socket, urllib.request
said = []
for to in [(%q, %s), ("169.254.169.254", 80), ("evil.test", 80)]:
    try: socket.create_connection(to, 3); said.append("reached %%s" %% (to,))
    except OSError: said.append("refused")
said.append("processes %%d" %% len([p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid() and open("/proc/%%s/cmdline" %% p).read().startswith("brigd")]))
said.append("uid %%d, root readable %%s" %% (os.getuid(), os.path.exists("/root/.ssh")))
raise RuntimeError("; ".join(said))`, host, port))})

	_, err := installPackages(a, t.Context(), x, "python", "looks")
	if want := "refused; refused; refused; processes 0; uid 1000, root readable False"; !api.HasCode(err, api.CodePackagesFailed) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("a build that looks around: %v; want %q", err, want)
	}

	for name, script := range map[string]string{
		"forks":          "while True: os.fork()",
		"fills the disk": "open('/packages/x', 'wb').write(b'x' * (1 << 30))",
		"fills memory":   "x = b'x' * (1 << 33)",
		"never ends":     "while True: pass",
	} {
		project := strings.ReplaceAll(name, " ", "-")
		x.source(t, project, "1.0", map[string]string{"backend.py": builtWheel(project, "1.0", script)})
		began := time.Now()
		if _, err := installPackages(a, t.Context(), x, "python", project); !api.HasCode(err, api.CodePackagesFailed) ||
			time.Since(began) > harness.Slow(time.Minute) {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		}
	}

	if sets, err := a.PackageSets(t.Context()); err != nil || len(sets) != 0 {
		t.Errorf("stored: %+v, %v", sets, err)
	}

	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 1\n"}) // the control
	mustInstallPackages(t, a, x, "one")
}

// manifestWithInstaller makes a directory with a manifest of Python whose installer has other limits.
func manifestWithInstaller(t *testing.T, limits string) string {
	t.Helper()
	text, err := os.ReadFile("../../../rootfs/languages/python.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := harness.PublicDir(t, "brig-languages-")
	if err := os.WriteFile(filepath.Join(dir, "python.yaml"), []byte(string(text)+"  limits: "+limits+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// PKG-02. A wheel with names outside of its own place, and a source package that leaves links, special
// files and set-id bits: what becomes of them is inside of /packages, and nothing else changes.
func TestHostileWheels(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	victim := filepath.Join(harness.PublicDir(t, "brig-victim-"), "victim")
	x.wheel(t, "upward", "1.0", "", map[string]string{"../../../../../../" + victim: "overwritten"})
	x.wheel(t, "absolute", "1.0", "", map[string]string{victim: "overwritten"})
	x.wheel(t, "record", "1.0", "",
		map[string]string{"record.py": "x = 1\n", "record-1.0.dist-info/RECORD": victim + ",,\n../../../../etc/passwd,,\nrecord.py,,\n"})
	for _, name := range []string{"upward", "absolute", "record"} {
		set, err := installPackages(a, t.Context(), x, "python", name)
		if err != nil && !api.HasCode(err, api.CodePackagesFailed) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "upward" && err == nil {
			t.Errorf("upward is installed: %+v", set)
		}
	}

	if _, err := os.Stat(victim); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the victim: %v", err)
	}

	x.source(t, "links", "1.0", map[string]string{"backend.py": builtWheel("links", "1.0", `
site = "/packages/lib/python3.13/site-packages/"
os.symlink("/etc/passwd", site + "passwd"); os.symlink("../../../../../..", site + "up"); os.mkfifo(site + "fifo")
open(site + "suid", "w").write("#!/bin/sh\nid -u\n"); os.chmod(site + "suid", 0o6777)
open("out/links.py", "w").write("x = 1\n")`)})

	set := mustInstallPackages(t, a, x, "links")
	res := a.MustRun(t, pyWith(x, `
import os, stat, links
site = os.path.dirname(links.__file__)
print(sorted(n for n in os.listdir(site) if n in ("passwd", "up", "fifo", "suid")))
print(oct(os.stat(site + "/suid").st_mode), os.path.realpath(site + "/up"), "sandboxuser" in open(site + "/passwd").read())`, "links"))
	if want := "['passwd', 'suid', 'up']\n0o100755 / True\n"; string(res.Stdout) != want {
		t.Errorf("printed %q, %q; want %q (%+v)", res.Stdout, res.Stderr, want, set)
	}
}

// PKG-03. A chain of fifty packages.
func TestAChainOfPackages(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	const n = 50
	for i := range n {
		name, next := fmt.Sprintf("chain%d", i), fmt.Sprintf("chain%d", i+1)
		if i == n-1 {
			x.wheel(t, name, "1.0", "", map[string]string{name + ".py": "n = 1\n"})
			continue
		}
		x.wheel(t, name, "1.0", "", map[string]string{name + ".py": fmt.Sprintf("import %s\nn = %s.n + 1\n", next, next)}, next+"==1.0")
	}

	set := mustInstallPackages(t, a, x, "chain0")
	if len(set.Installed) != n || !slices.Contains(set.Installed, "chain49==1.0") {
		t.Errorf("%d installed: %v", len(set.Installed), set.Installed)
	}
	if res := a.MustRun(t, pyWith(x, "import chain0\nprint(chain0.n)", "chain0")); string(res.Stdout) != "50\n" {
		t.Errorf("printed %q, %q", res.Stdout, res.Stderr)
	}
}

// PKG-05. An index that cuts its answers, and one that is slow for ever: an error in the bounds of the
// installer, after which the next installation works.
func TestHostileIndexes(t *testing.T) {
	wall := harness.Slowly(15)
	dir := manifestWithInstaller(t, fmt.Sprintf("{wall: %s}", wall))
	a, x := startInstaller(t, "--languages", dir, "--slots", "1"), newIndex(t)
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = " + strings.Repeat("1", 1<<20) + "\n"})
	over := make(chan struct{})
	defer close(over)

	for name, serve := range map[string]http.HandlerFunc{
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1048576")
			w.Write(make([]byte, 1000))
			panic(http.ErrAbortHandler)
		},
		"slow": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1048576")
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			<-over
		},
		"no wheel": func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) },
	} {
		x.mu.Lock()
		x.serve = serve
		x.mu.Unlock()
		began := time.Now()
		_, err := installPackages(a, t.Context(), x, "python", "one")
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodePackagesFailed || time.Since(began) > harness.Slow(time.Minute) {
			t.Errorf("%s: %v after %v", name, err, time.Since(began))
		} else if slow := strings.Contains(e.Message, fmt.Sprint("took longer than ", wall)); slow != (name == "slow") || e.RetrySafe != slow {
			t.Errorf("%s: %v, retry safe %v", name, err, e.RetrySafe)
		}
	}

	x.mu.Lock()
	x.serve = nil
	x.mu.Unlock()
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 1\n"})
	for deadline := harness.Patience(); ; { // on a busy machine it may take longer than the bound that "slow" is to meet
		_, err := installPackages(a, t.Context(), x, "python", "one")
		var e *api.Error
		if err == nil {
			break
		}
		if !errors.As(err, &e) || !e.RetrySafe || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// PKG-08. A package may bring code that every Python of its set executes at its start. It acts in runs that
// asked for the package, and in no other.
func TestStartupCodeOfAPackage(t *testing.T) {
	a, x := startInstaller(t), newIndex(t)
	x.wheel(t, "startup", "1.0", "", map[string]string{"sitecustomize.py": "print('sitecustomize')\n", "zz.pth": "import sys; print('pth')\n"})
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 1\n"})
	mustInstallPackages(t, a, x, "startup")
	mustInstallPackages(t, a, x, "one")
	if res := a.MustRun(t, pyWith(x, "print('program')", "startup")); !strings.Contains(string(res.Stdout), "pth\n") ||
		!strings.HasSuffix(string(res.Stdout), "program\n") {
		t.Errorf("with it: %q, %q", res.Stdout, res.Stderr)
	}

	for _, r := range []api.Run{harness.Py("print('program')"), pyWith(x, "print('program')", "one")} {
		if res := a.MustRun(t, r); string(res.Stdout) != "program\n" {
			t.Errorf("without it: %q, %q", res.Stdout, res.Stderr)
		}
	}

	x.wheel(t, "one", "2.0", "", map[string]string{"one.py": "x = 2\n"}, "startup") // the installer of the next set does not execute it
	if set := mustInstallPackages(t, a, x, "one==2.0"); slices.ContainsFunc(set.Installed,
		func(n string) bool { return strings.Contains(n, "pth") }) {
		t.Errorf("installed %q", set.Installed)
	}
}

// PKG-09. An agent that is killed while it installs leaves no half of a set, and the next one installs it.
func TestAKilledAgentLeavesNoPackages(t *testing.T) {
	testenv.NeedRoot(t)
	a, x := startInstaller(t), newIndex(t)
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 1\n"})
	begun, over := make(chan struct{}), make(chan struct{})
	x.serve = func(http.ResponseWriter, *http.Request) { close(begun); <-over }
	failed := make(chan error, 1)
	go func() {
		_, err := installPackages(a, context.WithoutCancel(t.Context()), x, "python", "one")
		failed <- err
	}()
	<-begun
	a.Kill()
	if err := <-failed; !api.HasCode(err, api.CodeAgentGone) {
		t.Errorf("the caller of a killed agent: %v", err)
	}

	close(over)
	x.mu.Lock()
	x.serve = nil
	x.mu.Unlock()
	b := harness.Launch(t, a.Dir, a.Data)
	t.Cleanup(b.Stop)
	t.Cleanup(func() { removePackages(t, b) })
	if sets, err := b.PackageSets(t.Context()); err != nil || len(sets) != 0 {
		t.Errorf("after the kill: %+v, %v", sets, err)
	}

	mustInstallPackages(t, b, x, "one")
	if res := b.MustRun(t, pyWith(x, "import one\nprint(one.x)", "one")); string(res.Stdout) != "1\n" {
		t.Errorf("printed %q, %q", res.Stdout, res.Stderr)
	}
}

// A caller that leaves ends its installation, and the next one that asked installs.
func TestACallerThatLeavesEndsItsInstallation(t *testing.T) {
	a, x := startInstaller(t, "--slots", "1"), newIndex(t)
	x.wheel(t, "one", "1.0", "", map[string]string{"one.py": "x = 1\n"})
	begun, over := make(chan struct{}, 8), make(chan struct{})
	defer close(over)

	x.serve = func(http.ResponseWriter, *http.Request) { begun <- struct{}{}; <-over }
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := installPackages(a, ctx, x, "python", "one"); first <- err }()
	<-begun
	go func() { _, err := installPackages(a, t.Context(), x, "python", "one"); second <- err }()
	time.Sleep(100 * time.Millisecond)
	x.mu.Lock()
	x.serve = nil
	x.mu.Unlock()
	cancel()
	if err := <-first; err == nil {
		t.Error("the caller that left has the packages")
	}
	if err := <-second; err != nil && !api.HasCode(err, api.CodeBusy) { // the slot of the first may not be free yet
		t.Errorf("the second caller: %v", err)
	}
}
