package limits

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// collected runs a script with inputs and returns the files that came back, and the reasons for
// those that did not.
func collected(t *testing.T, a *harness.Agent, r api.Run) (files map[string]string, skipped map[string]string) {
	t.Helper()
	res := a.MustRun(t, r)
	if res.Verdict != api.OK {
		t.Fatalf("verdict %s, stderr %q", res.Verdict, res.Stderr)
	}

	files, skipped = map[string]string{}, map[string]string{}
	for _, f := range res.Files {
		files[f.Name] = string(f.Content)
	}

	for _, s := range res.Skipped {
		skipped[s.Name] = s.Reason
	}
	return files, skipped
}

func names(m map[string]string) []string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func TestInputsArePlacedAndOutputsCollected(t *testing.T) {
	a := harness.StartAgent(t)
	inputs := []api.File{{Name: "in.txt", Content: api.Bytes("in")}, {Name: "d/e/deep", Content: api.Bytes("deep")},
		{Name: "run.sh", Content: api.Bytes("#!/bin/sh\necho ran\n"), Executable: true}}
	for _, tt := range []struct {
		name   string
		script string
		want   []string
	}{
		{"an unchanged input does not come back", "cat in.txt d/e/deep", nil},
		{"a new file does", "echo x > new", []string{"new"}},
		{"a changed input does", "echo more >> in.txt", []string{"in.txt"}},
		{"a rewritten input does, though its text is the same", "printf in > in.txt", []string{"in.txt"}},
		{"an input whose mtime was set back does", "printf xx > in.txt; touch -d 1970-01-01 in.txt", []string{"in.txt"}},
		{"files of directories come with their path", "mkdir -p a/b; echo 1 > a/b/c; echo 2 > d/new", []string{"a/b/c", "d/new"}},
		{"caches do not", "mkdir __pycache__; echo > __pycache__/x.pyc; echo y > y", []string{"y"}},
		{"an input can be executed", "./run.sh > out", []string{"out"}},
		{"/tmp is not collected", "echo > /tmp/x; echo > /dev/shm/y", nil},
		{"/sandbox is /box", "echo z > /sandbox/z", []string{"z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Sh(tt.script)
			r.Files = inputs
			files, skipped := collected(t, a, r)
			if !slices.Equal(names(files), tt.want) || len(skipped) > 0 {
				t.Errorf("collected %q, skipped %v; want %q", names(files), skipped, tt.want)
			}
		})
	}
}

// FIO-01, -02, -04, -05, -08 and more: anything but a regular file below /box is skipped by name
// with the reason, and nothing outside is ever read.
func TestTricksWithOutputsAreSkippedByName(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("CANARY-9f3"), 0o644); err != nil {
		t.Fatal(err)
	}

	a := harness.StartAgent(t)
	for _, tt := range []struct {
		name, script, file, reason string
	}{
		{"an absolute link", "ln -s " + canary + " out", "out", "symbolic link"},
		{"a link of the image", "ln -s /etc/passwd out", "out", "symbolic link"},
		{"a relative link", "ln -s ../../../../etc/passwd out", "out", "symbolic link"},
		{"a dangling link", "ln -s /nowhere out", "out", "symbolic link"},
		{"a link to a directory", "ln -s /etc out", "out", "symbolic link"},
		{"a link through /proc", "ln -s /proc/self/root/etc/passwd out", "out", "symbolic link"},
		{"a FIFO", "mkfifo -m 600 out", "out", "FIFO"},
		{"a sparse giant", "dd if=/dev/null of=out bs=1 seek=60M", "out", "limit"},
		{"one file too many bytes", "head -c 9000000 /dev/zero > out", "out", "limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Sh(tt.script + "; echo fine > fine")
			files, skipped := collected(t, a, r)
			if files["fine"] != "fine\n" || len(files) != 1 {
				t.Errorf("collected %q", names(files))
			}
			if !strings.Contains(skipped[tt.file], tt.reason) {
				t.Errorf("skipped %v; want %s for %q", skipped, tt.file, tt.reason)
			}
		})
	}

	t.Run("a parent that is a link (FIO-02)", func(t *testing.T) {
		r := harness.Sh("ln -s /etc dir")
		r.Collect.Globs = []string{"dir/passwd"}
		files, _ := collected(t, a, r)
		if len(files) != 0 {
			t.Errorf("collected %v", files)
		}
	})

	t.Run("more than 64 files", func(t *testing.T) {
		files, skipped := collected(t, a, harness.Sh("i=0; while [ $i -lt 70 ]; do echo > f$i; i=$((i+1)); done"))
		if len(files) != 64 || len(skipped) != 6 {
			t.Errorf("collected %d, skipped %d", len(files), len(skipped))
		}
	})

	t.Run("odd names", func(t *testing.T) {
		files, skipped := collected(t, a, harness.Sh(`echo 1 > "$(printf 'a\nb')"; echo 2 > "$(printf '\377')"; echo 3 > -rf`))
		if files["a\nb"] != "1\n" || files["-rf"] != "3\n" || len(skipped) != 1 {
			t.Errorf("collected %q, skipped %v", names(files), skipped)
		}
	})

	t.Run("globs", func(t *testing.T) {
		r := harness.Sh("echo 1 > a.txt; echo 2 > b.bin; mkdir d; echo 3 > d/c.txt")
		r.Collect.Globs = []string{"*.txt", "d/*"}
		files, _ := collected(t, a, r)
		if !slices.Equal(names(files), []string{"a.txt", "d/c.txt"}) {
			t.Errorf("collected %q", names(files))
		}
	})

	t.Run("a tree too deep", func(t *testing.T) {
		deep := harness.CompileC(t, "deep", `#include <sys/stat.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 3000; i++) { mkdir("d", 0755); if (chdir("d")) return 1; } return 0; }`)
		r := harness.Program(deep)
		files, skipped := collected(t, a, r)
		if len(files) != 0 || len(skipped) != 1 {
			t.Errorf("collected %q, skipped %d", names(files), len(skipped))
		}
	})

	t.Run("a path longer than a caller may send", func(t *testing.T) {
		long := harness.CompileC(t, "long", `#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) { char d[201] = {0}; for (int i = 0; i < 200; i++) d[i] = 'd';
  close(open("fine", O_CREAT|O_WRONLY, 0644));
  for (int i = 0; i < 8; i++) { mkdir(d, 0755); if (chdir(d)) return 1; } return open("f", O_CREAT|O_WRONLY, 0644) < 0; }`)

		files, skipped := collected(t, a, harness.Program(long))
		if _, ok := files["fine"]; !ok || len(files) != 1 {
			t.Errorf("collected %d files; want fine alone", len(files))
		}
		if skipped[strings.Repeat("d", 64)+"..."] != "path too long" {
			t.Errorf("skipped %v", skipped)
		}
	})

	t.Run("a swap race until the end (FIO-08, FS-31)", func(t *testing.T) {
		race := harness.CompileC(t, "race", `#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) { symlink("/etc/passwd", "link"); close(open("file", O_CREAT|O_WRONLY, 0644)); mkdir("dir", 0755); symlink("/etc", "dlink");
  if (!fork()) for (close(1), close(2);;) { renameat2(AT_FDCWD, "link", AT_FDCWD, "file", RENAME_EXCHANGE); renameat2(AT_FDCWD, "dir", AT_FDCWD, "dlink", RENAME_EXCHANGE); }
  usleep(2000); return 0; }`)

		for range 20 {
			r := harness.Program(race)
			r.Collect.Globs = []string{"link", "file", "dir/*", "dlink/*"}
			files, _ := collected(t, a, r)
			for n, c := range files {
				if strings.Contains(c, "root") {
					t.Fatalf("%s came back with a file of the image: %q", n, c)
				}
			}
		}
	})
}

// Inputs belong to the program, in directories that it may write to, except executable inputs,
// which it may only remove (MEM-20). The x bit is kept in both directions. A second name of a file
// counts as a separate file.
func TestInputsBelongToTheProgram(t *testing.T) {
	a := harness.StartAgent(t)
	r := harness.Sh(`stat -c '%u:%g %a %n' in.txt d d/e d/e/deep run.sh && echo x >> d/e/deep && mkdir d/e/more && ln in.txt second && cp run.sh again.sh && chmod +x again.sh && rm run.sh`)
	r.Files = []api.File{{Name: "in.txt", Content: api.Bytes("in")}, {Name: "d/e/deep", Content: api.Bytes("deep")},
		{Name: "run.sh", Content: api.Bytes("#!/bin/sh\n"), Executable: true}}
	res := a.MustRun(t, r)
	harness.WantVerdict(t, res, api.OK)
	if want := "1000:1000 644 in.txt\n1000:1000 755 d\n1000:1000 755 d/e\n1000:1000 644 d/e/deep\n0:0 555 " +
		"run.sh\n"; string(res.Stdout) != want {
		t.Errorf("inputs lie as\n%swant\n%s", res.Stdout, want)
	}

	got := map[string]api.File{}
	for _, f := range res.Files {
		got[f.Name] = f
	}

	if !got["again.sh"].Executable || got["d/e/deep"].Executable || string(got["d/e/deep"].Content) != "deepx\n" ||
		string(got["second"].Content) != "in" {
		t.Errorf("came back: %+v", res.Files)
	}
}

// A directory that its owner has closed does no harm. A socket would be skipped by collecting, but
// no tier lets a program make one.
func TestClosedDirectoriesHarmNothing(t *testing.T) {
	a := harness.StartAgent(t)
	r := harness.Sh("mkdir closed; echo x > closed/in; chmod 0 closed; echo fine > fine")
	if files, _ := collected(t, a, r); files["fine"] != "fine\n" {
		t.Errorf("collected %q", names(files))
	}

	socket := harness.CompileC(t, "socket", `#include <sys/stat.h>
int main(void) { return mknod("out", S_IFSOCK | 0600, 0) == 0; }`)
	for _, tier := range []string{"strict", "default", "managed", "compile"} {
		r := harness.Program(socket)
		r.Profile = tier
		if files, skipped := collected(t, a, r); len(files) != 0 || len(skipped) != 0 {
			t.Errorf("tier %s: collected %q, skipped %v", tier, names(files), skipped)
		}
	}

	t.Run("what one run closed, the next does not meet", func(t *testing.T) {
		files, skipped := collected(t, a, harness.Sh("echo y > y"))
		if !slices.Equal(names(files), []string{"y"}) || len(skipped) != 0 {
			t.Errorf("collected %q, skipped %v", names(files), skipped)
		}
	})

	t.Run("a bound of the caller's own", func(t *testing.T) {
		r := harness.Sh("for i in 1 2 3; do head -c 1000 /dev/zero > f$i; done")
		r.Collect.Files = 2
		if files, skipped := collected(t, a, r); len(files) != 2 || len(skipped) != 1 {
			t.Errorf("collected %q, skipped %v", names(files), skipped)
		}
		r.Collect = api.Collect{Bytes: 2500}
		if files, skipped := collected(t, a, r); len(files) != 2 || len(skipped) != 1 {
			t.Errorf("collected %q, skipped %v", names(files), skipped)
		}
	})
}

// A write through a shared mapping changes no timestamp of a file on tmpfs: the bytes show that it
// has changed, and that a file which was only read has not.
func TestAChangeThroughAMappingComesBack(t *testing.T) {
	a := harness.StartAgent(t)
	mapped := harness.CompileC(t, "mapped", `#include <fcntl.h>
#include <sys/mman.h>
int main(int c, char **v) { int f = open("in.txt", O_RDWR); volatile char *p = mmap(0, 2, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0); char was = p[0]; if (c > 1) p[0] = was + 1; return 0; }`)
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{{"read only", nil, nil}, {"written", []string{"write"}, []string{"in.txt"}}} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Program(mapped, tt.args...)
			r.Files = append(r.Files, api.File{Name: "in.txt", Content: api.Bytes("in")})
			files, skipped := collected(t, a, r)
			if !slices.Equal(names(files), tt.want) || len(skipped) > 0 {
				t.Errorf("collected %q, skipped %v; want %q", names(files), skipped, tt.want)
			}
		})
	}
}
