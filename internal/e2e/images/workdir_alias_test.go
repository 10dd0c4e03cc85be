package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A second name of /box is there in every image, whatever the image has at that name, and leads to /box alone: a link of
// the image is not followed, and a file of it is neither read nor changed.
func TestWorkdirAlias(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")

	// It writes below the name that argv[1] has, reads the same file in /box, and says what it finds of the image.
	probe := harness.CompileC(t, "probe", `#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int c, char **v) {
	char name[256], text[256] = {0};
	snprintf(name, sizeof name, "%s/made", v[1]);
	int f = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
	if (f < 0 || write(f, "text", 4) != 4 || close(f)) { perror(name); return 2; }
	f = open("/box/made", O_RDONLY);
	if (f < 0 || read(f, text, 4) != 4) { perror("/box/made"); return 3; }
	int n = readlink(v[1], name, sizeof name - 1); name[n < 0 ? 0 : n] = 0;
	struct stat s;
	char up[256]; strcpy(up, v[1]); *strrchr(up, '/') = 0;
	if (lstat(*up ? up : "/", &s) || !S_ISDIR(s.st_mode) || (s.st_mode & 07777) != 0755) return 4;
	printf("%s %s", text, name);
	for (int i = 2; i < c; i++) {
		f = open(v[i], O_RDONLY); n = f < 0 ? -1 : read(f, text, 255); text[n < 0 ? 0 : n] = 0;
		printf(" %s", n < 0 ? "-" : text);
	}
	return 0;
}`)

	file := func(name, content string) entry {
		return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(content))}, content}
	}
	link := func(name, to string) entry {
		return entry{tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}, ""}
	}
	victim := file("etc/victim", "victim")

	for _, tt := range []struct {
		name   string
		alias  string
		has    []entry
		reads  []string
		stdout string
	}{
		{"nothing", "/mnt/data", nil, nil, "text /box"},
		{"one name", "/w", nil, nil, "text /box"},
		{"a directory", "/mnt/data", []entry{file("mnt/data/made", "image"), file("mnt/data/own", "x"), file("mnt/other", "kept")},
			[]string{"/mnt/data/own", "/mnt/other"}, "text /box - kept"},
		{"a link to a directory", "/mnt/data", []entry{link("mnt/data", "/etc")}, []string{"/etc/made", "/etc/victim"}, "text /box - victim"},
		{"a link above it", "/mnt/data", []entry{link("mnt", "etc")}, []string{"/etc/data", "/etc/victim"}, "text /box - victim"},
		{"a link out of the root", "/mnt/data", []entry{link("mnt/data", "../../../../etc")}, []string{"/etc/made"}, "text /box -"},
		{"a link to itself", "/w", []entry{link("w", "w")}, nil, "text /box"},
		{"a link into the agent's processes", "/w", []entry{link("w", "/proc/1/root")}, nil, "text /box"},
		{"a file", "/mnt/data", []entry{file("mnt/data", "file")}, nil, "text /box"},
		{"a file above it", "/mnt/data", []entry{file("mnt", "file")}, nil, "text /box"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := importTree(t, a, "alias", append([]entry{file(probe.Name, string(probe.Content)), victim}, tt.has...))
			defer func() {
				if err := a.RemoveImage(t.Context(), "alias"); err != nil {
					t.Error(err)
				}
			}()

			run := api.Run{Image: "alias", Argv: append([]string{"/" + probe.Name, tt.alias}, tt.reads...),
				Limits: harness.HostileLimits(), WorkdirAlias: tt.alias}
			for _, change := range []func(r *api.Run){
				func(*api.Run) {}, func(r *api.Run) { r.Mode = api.Fresh }, func(r *api.Run) { r.Mode = api.Exclusive },
				func(r *api.Run) { r.WritableRoot = true },
				func(r *api.Run) { r.WritableRoot, r.Mode = true, api.Exclusive },
			} {
				r := run
				change(&r)
				res := a.MustRun(t, r)
				if res.Verdict != api.OK || string(res.Stdout) != tt.stdout || len(res.Files) != 1 || res.Files[0].Name != "made" {
					t.Errorf("mode %s, writable root %v: %s %d, %q, %q, %v", r.Mode, r.WritableRoot, res.Verdict, res.ExitCode,
						res.Stdout, res.Stderr, res.Files)
				}
			}

			// Without it the image is as it was, and its tree is unchanged.
			plain := run
			plain.WorkdirAlias = ""
			plain.Argv = []string{"/" + probe.Name, "/box"}
			if res := a.MustRun(t, plain); res.Verdict != api.OK || string(res.Stdout) != "text " {
				t.Errorf("without it: %s %d, %q, %q", res.Verdict, res.ExitCode, res.Stdout, res.Stderr)
			}
			for _, name := range []string{"etc/made", "etc/data"} {
				if _, err := os.Lstat(filepath.Join(tree, name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the image has %s now: %v", name, err)
				}
			}
		})
	}

	for _, alias := range []string{"/etc", "mnt/data", "/mnt/data/", "/mnt/data/../../etc", "/box", "/"} {
		a.Refused(t, api.Run{Image: "any", Argv: []string{"x"}, WorkdirAlias: alias}, api.CodeBadRequest)
	}
}

// A session has the second name in all of its execs, and its files are those of /box.
func TestWorkdirAliasOfASession(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	s := a.NewSession(t, func(s *api.SessionRequest) { s.WorkdirAlias = "/mnt/data" })
	a.Put(t, s.ID, "given", "in")
	a.WantOutput(t, s.ID, "cat /mnt/data/given; echo out > /mnt/data/made; cd /mnt/data && pwd", "in/mnt/data\n")
	a.WantOutput(t, s.ID, "cat made /mnt/data/made", "out\nout\n")
}

// An entry is one of an archive.
type entry struct {
	tar.Header
	content string
}

// importTree imports an image with these entries and returns its tree.
func importTree(t *testing.T, a *harness.Agent, name string, entries []entry) string {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		err := w.WriteHeader(&e.Header)
		_, werr := w.Write([]byte(e.content))
		if err := errors.Join(err, werr); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	img, err := a.Import(t.Context(), &archive, name, "")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(a.Data, "images", "images", strings.TrimPrefix(img.Digest, "sha256:"), "root")
}
