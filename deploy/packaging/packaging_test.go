// Package packaging holds the files that install brig: scripts, units and settings.
package packaging

import (
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// runCommand runs a command with additional environment, and returns its output.
func runCommand(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}

func needBuilt(t *testing.T) {
	t.Helper()
	for _, name := range []string{"brig", "brigd"} {
		testenv.NeedFile(t, "../../bin/"+name, "run make build first")
	}
}

// filesBelow returns the files below a directory.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, "/"+name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}

	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestInstallAndRemove(t *testing.T) {
	needBuilt(t)
	dir := t.TempDir()
	env := []string{"DESTDIR=" + dir, "PREFIX=/opt/brig", "ZSHDIR="}
	runCommand(t, env, "./install")
	all := filesBelow(t, dir)
	for _, want := range []string{
		"/opt/brig/bin/brig", "/opt/brig/bin/brigd", "/opt/brig/etc/brig/serve.yaml",
		"/opt/brig/lib/systemd/system/brigd.service", "/opt/brig/lib/systemd/system/brig-gateway.service",
		"/opt/brig/lib/sysusers.d/brig.conf", "/opt/brig/lib/tmpfiles.d/brig.conf",
		"/opt/brig/share/man/man1/brig.1.gz", "/opt/brig/share/man/man1/brig-serve.1.gz", "/opt/brig/share/man/man8/brigd.8.gz",
		"/opt/brig/share/bash-completion/completions/brig", "/opt/brig/share/zsh/site-functions/_brig",
		"/opt/brig/share/fish/vendor_completions.d/brig.fish",
		"/opt/brig/share/doc/brig/README.md", "/opt/brig/share/doc/brig/docs/grading.md", "/opt/brig/share/doc/brig/docs/recording.svg",
		"/opt/brig/share/brig/clients/python/pyproject.toml", "/opt/brig/share/brig/clients/python/brig_sandbox/__init__.py",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not installed", want)
		}
	}

	// The programs that the units start exist and know the flags.
	units, err := filepath.Glob(dir + "/opt/brig/lib/systemd/system/*")
	if err != nil || len(units) != 2 {
		t.Fatalf("units %q, %v", units, err)
	}

	for _, unit := range units {
		start := regexp.MustCompile(`(?m)^ExecStart=(\S+)(.*)$`).FindStringSubmatch(read(t, unit))
		if start == nil {
			t.Fatalf("%s starts nothing", unit)
		}

		args := strings.Fields(start[2])
		help := append(slices.DeleteFunc(slices.Clone(args),
			func(a string) bool { return strings.HasPrefix(a, "-") || strings.Contains(a, "/") || a == "brig" }), "--help")
		said := runCommand(t, nil, append([]string{dir + start[1]}, help...)...)
		for _, a := range args {
			if strings.HasPrefix(a, "--") && !strings.Contains(said, a+" ") {
				t.Errorf("%s: %s has no flag %s", unit, start[1], a)
			}
		}
	}

	// The agent's manual page has each of its flags; brig's own pages are checked in cmd/brig.
	page := strings.ReplaceAll(read(t, dir+"/opt/brig/share/man/man8/brigd.8.gz"), `\-`, "-")
	flags := regexp.MustCompile(`(?m)^ .*?(--[a-z-]+)`).FindAllStringSubmatch(runCommand(t, nil, dir+"/opt/brig/bin/brigd", "--help"), -1)
	if len(flags) < 20 {
		t.Fatalf("brigd --help shows %d flags", len(flags))
	}

	for _, f := range flags {
		if !strings.Contains(page, f[1]) {
			t.Errorf("the manual page of brigd does not have %s", f[1])
		}
	}

	// Changed settings belong to the operator and stay.
	settings := dir + "/opt/brig/etc/brig/serve.yaml"
	if err := os.WriteFile(settings, []byte("queue: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	runCommand(t, env, "./install")
	if got := read(t, settings); got != "queue: 1\n" {
		t.Errorf("a second install made the settings %q", got)
	}

	runCommand(t, env, "./install", "--remove")
	if left := filesBelow(t, dir); !slices.Equal(left, []string{"/opt/brig/etc/brig/serve.yaml"}) {
		t.Errorf("left behind: %q; want the changed settings alone", left)
	}
	if err := os.Remove(settings); err != nil {
		t.Fatal(err)
	}

	runCommand(t, env, "./install")
	runCommand(t, env, "./install", "--remove")
	if left := filesBelow(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Settings lie where others have them, and what is installed reads them there; nothing is written
// anywhere else.
func TestPrefixes(t *testing.T) {
	needBuilt(t)

	for _, tt := range []struct{ prefix, sysconf, settings string }{
		{"", "", "/etc"},
		{"/opt/brig", "", "/opt/brig/etc"},
		{"/opt/brig", "/etc/opt", "/etc/opt"},
	} {
		t.Run(tt.prefix+" "+tt.sysconf, func(t *testing.T) {
			dir := t.TempDir()
			env := []string{"DESTDIR=" + dir, "PREFIX=" + tt.prefix, "SYSCONFDIR=" + tt.sysconf, "ZSHDIR="}
			runCommand(t, env, "./install")
			prefix := cmp.Or(tt.prefix, "/usr/local")
			for _, name := range filesBelow(t, dir) {
				if !strings.HasPrefix(name, prefix+"/") && name != tt.settings+"/brig/serve.yaml" {
					t.Errorf("%s is neither below %s nor the settings", name, prefix)
				}
			}

			gateway := read(t, dir+prefix+"/lib/systemd/system/brig-gateway.service")
			if want := "ExecStart=" + prefix + "/bin/brig serve --config " + tt.settings + "/brig/serve.yaml\n"; !strings.Contains(gateway, want) {
				t.Errorf("the unit of the service does not have %q", want)
			}

			agent := read(t, dir+prefix+"/lib/systemd/system/brigd.service")
			want := "ExecStart=" + prefix + "/bin/brigd --group brig"
			if tt.settings != "/etc" {
				want += " --languages " + tt.settings + "/brig/languages --profiles " + tt.settings + "/brig/profiles"
			}
			if !strings.Contains(agent, want+"\n") {
				t.Errorf("the unit of the agent does not have %q", want)
			}

			documentsMustLeadToEachOther(t, dir+prefix+"/share/doc/brig/docs")
			runCommand(t, env, "./install", "--remove")
			if left := filesBelow(t, dir); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}

	for _, bad := range []string{"PREFIX=relative", "PREFIX=/with space", "SYSCONFDIR=/a|b"} {
		dir := t.TempDir()
		c := exec.CommandContext(t.Context(), "./install")
		c.Env = append(os.Environ(), "DESTDIR="+dir, bad)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "use an absolute path") || len(filesBelow(t, dir)) > 0 {
			t.Errorf("%s: %v, %s", bad, err, out)
		}
	}
}

// documentsMustLeadToEachOther checks that the links of installed documents lead to installed ones, or
// to the sources.
func documentsMustLeadToEachOther(t *testing.T, docs string) {
	t.Helper()
	links := regexp.MustCompile(`\]\(([^):#]+\.md)[)#]`)
	var pages []string
	for _, pattern := range []string{"/*.md", "/*/*.md"} {
		found, err := filepath.Glob(docs + pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 60 {
		t.Fatalf("%d pages", len(pages))
	}

	for _, page := range pages {
		for _, link := range links.FindAllStringSubmatch(read(t, page), -1) {
			target := filepath.Join(filepath.Dir(page), link[1])
			if !strings.HasPrefix(target, docs+"/") { // of the sources
				continue
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(page), link[1], err)
			}
		}
	}
}

func TestDeb(t *testing.T) {
	needBuilt(t)
	testenv.NeedTool(t, "dpkg-deb", "dpkg")
	dir := t.TempDir()
	env := []string{"VERSION=v1.2.3", "COMPRESS=none", "SOURCE_DATE_EPOCH=1700000000", "MAINTAINER=A Packager <packager@example.org>"}
	var made [2]string
	for i := range made { // the same tree gives the same package
		runCommand(t, env, "./deb", dir)
		arch := strings.TrimSpace(runCommand(t, nil, "dpkg", "--print-architecture"))
		file := filepath.Join(dir, "brig_1.2.3_"+arch+".deb")
		made[i] = read(t, file)
		if i == 1 && made[0] != made[1] {
			t.Error("two packages of the same tree differ")
		}
		if i == 0 {
			checkDeb(t, file)
		}
	}
}

func checkDeb(t *testing.T, file string) {
	if got := runCommand(t, nil, "dpkg-deb", "--field", file, "Package", "Version"); got != "Package: brig\nVersion: 1.2.3\n" {
		t.Errorf("fields %q", got)
	}
	if got := runCommand(t, nil, "dpkg-deb", "--field", file, "Maintainer"); got != "A Packager <packager@example.org>\n" {
		t.Errorf("maintainer %q; want the one that was given", got)
	}
	if got := runCommand(t, nil, "dpkg-deb", "--info", file, "conffiles"); got != "/etc/brig/serve.yaml\n" {
		t.Errorf("conffiles %q", got)
	}

	list := strings.Split(strings.TrimSpace(runCommand(t, nil, "dpkg-deb", "--contents", file)), "\n")
	for _, line := range list {
		if f := strings.Fields(line); f[1] != "root/root" || strings.Contains(f[5], "/usr/local") || strings.ContainsAny(f[0][1:], "sS") {
			t.Errorf("in the package: %s", line)
		}
	}

	for _, want := range []string{"./usr/bin/brigd", "./usr/lib/systemd/system/brig-gateway.service",
		"./usr/share/zsh/vendor-completions/_brig", "./usr/share/doc/brig/copyright",
		"./usr/share/doc/brig/docs/operate/install.md", "./usr/share/brig/clients/python/build_backend.py"} {
		if !slices.ContainsFunc(list, func(line string) bool { return strings.HasSuffix(line, " "+want) }) {
			t.Errorf("%s is not in the package", want)
		}
	}

	scripts := t.TempDir()
	runCommand(t, nil, "dpkg-deb", "--control", file, scripts)
	for _, name := range []string{"postinst", "prerm", "postrm"} {
		runCommand(t, nil, "sh", "-n", filepath.Join(scripts, name))
	}
}
