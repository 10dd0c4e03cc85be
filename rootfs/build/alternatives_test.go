package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
)

// The postinst scripts of all packages of an image share limits on the bytes they write, the number
// of files and the time. The build fails with the name of the package that exceeds one; a postinst
// that only fails loses just its own links.
func TestAlternativesAreBounded(t *testing.T) {
	testenv.NeedRoot(t)
	if err := needTools("unshare", "dpkg-deb", "update-alternatives", "tar"); err != nil {
		if os.Getenv("BRIG_TEST_MUST") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}

	const register = "update-alternatives --install /usr/bin/%s %[1]s /bin/busybox 10\n"
	bounds := alternativesBounds{MiB: 8, inodes: 500, seconds: 30}
	for _, tt := range []struct {
		name, postinst string
		bounds         alternativesBounds
		links          string // made if the build does not fail
		says           string // error of the build; empty: it does not fail
	}{
		{"ordinary", "yes | dd of=/tmp/some bs=64k count=64 iflag=fullblock\n", bounds, "first greedy last", ""},
		{"it fails", "exit 3\n", bounds, "first last", ""},
		{"much written", "yes | dd of=/tmp/much bs=64k count=1024 iflag=fullblock\n", bounds, "",
			"the postinst of greedy exceeds the limit of 8 MiB or 500 files"},
		{"many files", "i=0; while echo >/tmp/$i; do i=$((i + 1)); done\n", bounds, "",
			"the postinst of greedy exceeds the limit of 8 MiB or 500 files"},
		{"much asked for", "while cat /bin/busybox >&9; do :; done\n", bounds, "",
			"the postinst of greedy exceeds the limit of 8 MiB or 500 files"},
		{"long", "sleep 5\n", alternativesBounds{MiB: 8, inodes: 500, seconds: 2}, "",
			"take more than 2 seconds, and that of "}, // last or, on a busy machine, an earlier one
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := alternativesBuild(t, tt.bounds)
			for name, script := range map[string]string{
				"first": fmt.Sprintf(register, "first"), "greedy": tt.postinst + fmt.Sprintf(register, "greedy"), "last": fmt.Sprintf(register, "last"),
			} {
				b.pack(t, name, "#!/bin/sh\n# update-alternatives\n"+script)
			}

			said, err := b.run()
			if (err != nil) != (tt.says != "") || !strings.Contains(said, tt.says) {
				t.Errorf("%v; it says\n%s\nwant %q", err, said, tt.says)
			}

			var links []string
			for _, name := range []string{"first", "greedy", "last"} {
				if _, err := os.Readlink(filepath.Join(b.tree, "usr/bin", name)); err == nil {
					links = append(links, name)
				}
			}

			if got := strings.Join(links, " "); err == nil && got != tt.links {
				t.Errorf("the links %q are made; want %q\n%s", got, tt.links, said)
			}
			if left, err := filepath.Glob(filepath.Join(b.tree, "tmp/*")); err != nil || len(left) > 0 {
				t.Errorf("in the tree are %q, %v", left, err)
			}
		})
	}
}

// A recipe leaves directories out, such as those of manual pages. A link that belongs there is left
// out too, and the other links of the same call are made.
func TestAlternativesOutsideTheTreeAreLeftOut(t *testing.T) {
	testenv.NeedRoot(t)
	if err := needTools("unshare", "dpkg-deb", "update-alternatives", "tar"); err != nil {
		if os.Getenv("BRIG_TEST_MUST") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}

	b := alternativesBuild(t, alternativesBounds{MiB: 8, inodes: 500, seconds: 30})
	b.pack(t, "runner", "#!/bin/sh\nupdate-alternatives --install /usr/bin/run run /bin/busybox 10 "+
		"--slave /usr/share/man/man1/run.1 run.1 /bin/busybox --slave /usr/bin/runc runc /bin/busybox\n"+
		"update-alternatives --install /opt/none/lost lost /bin/busybox 10\n")
	said, err := b.run()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}

	for link, want := range map[string]string{"usr/bin/run": "/etc/alternatives/run", "usr/bin/runc": "/etc/alternatives/runc",
		"usr/share": "", "opt": "", "etc/alternatives/run.1": "", "etc/alternatives/lost": ""} {
		if got, _ := os.Readlink(filepath.Join(b.tree, link)); got != want {
			t.Errorf("%s leads to %q; want %q", link, got, want)
		}
		if _, err := os.Lstat(filepath.Join(b.tree, link)); want == "" && err == nil {
			t.Errorf("%s exists", link)
		}
	}
}

// An alternativesTest is a build whose tree contains only busybox.
type alternativesTest struct {
	*debianBuild
	tree string
}

func alternativesBuild(t *testing.T, bounds alternativesBounds) *alternativesTest {
	t.Helper()
	w, err := newBuildDir("")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})

	b := &alternativesTest{&debianBuild{dir: w}, w.file("tree")}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal("needs busybox-static")
	}

	text, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}

	for _, dir := range []string{"tree", "tree/bin", "tree/usr", "tree/usr/bin", "tree/etc", "tree/etc/alternatives", "tree/var",
		"tree/var/lib", "tree/var/lib/dpkg", "tree/var/lib/dpkg/alternatives", "tree/tmp"} {
		if err := w.mkdirOwned(dir); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(w.file("tree/bin/busybox"), text, 0o755); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"sh", "cat", "dd", "sleep", "yes"} {
		if err := os.Symlink("busybox", w.file("tree/bin/"+name)); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.writeOwned("finish.sh", b.variables()+debianAlternatives(bounds)); err != nil {
		t.Fatal(err)
	}
	return b
}

// pack makes a package that contains only a postinst.
func (b *alternativesTest) pack(t *testing.T, name, postinst string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Join(dir, "DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}

	control := "Package: " + name + "\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n"
	for name, text := range map[string]string{"control": control, "postinst": postinst} {
		if err := os.WriteFile(filepath.Join(dir, "DEBIAN", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", dir,
		b.dir.file("debs/"+name+"_1_all.deb")).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
}

// run runs the build's script for the packages, as the build's user.
func (b *alternativesTest) run() (said string, err error) {
	cmd := exec.Command("sh", "-eu", b.dir.file("finish.sh"), b.tree)
	b.confine(cmd)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
