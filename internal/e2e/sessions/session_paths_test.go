package sessions

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func getPath(t testing.TB, a *harness.Agent, id, path string) (string, error) {
	t.Helper()
	var got bytes.Buffer
	err := a.Paths(id).Get(t.Context(), path, 0, -1, nil, &got)
	return got.String(), err
}

// Files of a session at absolute paths are what its programs see, and what is made belongs to them.
func TestSessionPaths(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	p := a.Paths(s.ID)
	put := func(path, mode, content string) {
		t.Helper()
		if err := p.Put(t.Context(), path, mode, strings.NewReader(content)); err != nil {
			t.Fatalf("put %s: %v", path, err)
		}
	}

	put("/tmp/a/b/file", "", "one")
	put("/dev/shm/x", "0600", "two")
	put("/box/run.sh", "755", "#!/bin/sh\necho ran\n")
	put("/box/bytes \xff ü%2F?&#", "", "three")
	a.WantOutput(t, s.ID, "cat /tmp/a/b/file /dev/shm/x; stat -c '%u %g %a' /tmp/a /tmp/a/b/file /dev/shm/x /box/run.sh; /box/run.sh; "+
		"cat /box/bytes*", "onetwo1000 1000 755\n1000 1000 644\n1000 1000 600\n1000 1000 755\nran\nthree")
	if got, err := getPath(t, a, s.ID, "/box/bytes \xff ü%2F?&#"); err != nil || got != "three" {
		t.Errorf("a name that is not UTF-8: %q, %v", got, err)
	}

	// What programs write, and what the image has.
	a.WantOutput(t, s.ID, "echo mine > /tmp/mine; chmod 640 /tmp/mine; ln -s mine /tmp/link; ln -s /tmp /box/tmp", "")
	for _, path := range []string{"/tmp/mine", "/tmp/link", "/box/tmp/link", "/tmp/../tmp/./mine"} {
		if got, err := getPath(t, a, s.ID, path); err != nil || got != "mine\n" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if got, err := getPath(t, a, s.ID, "/etc/passwd"); err != nil || !strings.Contains(got, "sandboxuser") {
		t.Errorf("/etc/passwd of the image: %q, %v", got, err)
	}

	st, err := p.Status(t.Context(), "/tmp/mine", false)
	if err != nil || st.Kind != api.RegularFile || st.Size != 5 || st.Permissions != "-rw-r-----" || st.Owner != "sandboxuser" ||
		st.Mode != 0o640 {
		t.Errorf("stat: %+v, %v", st, err)
	}
	if at, err := time.Parse(time.RFC3339Nano, st.Modified); err != nil || time.Since(at) > time.Hour {
		t.Errorf("modified %s: %v", st.Modified, err)
	}
	if st, err = p.Status(t.Context(), "/tmp/link", false); err != nil || st.Kind != api.Symlink || st.Target != "mine" {
		t.Errorf("stat of a link: %+v, %v", st, err)
	}
	if st, err = p.Status(t.Context(), "/etc/passwd", false); err != nil || st.Owner != "root" || st.UID != 0 {
		t.Errorf("stat of a file of the image: %+v, %v", st, err)
	}

	// Parts of a file.
	for _, tt := range []struct {
		offset, length int64
		want           string
	}{{0, -1, "0123456789"}, {3, -1, "3456789"}, {3, 2, "34"}, {-3, -1, "789"}, {-30, -1, "0123456789"}, {9, 100, "9"}, {10, -1, ""},
		{1 << 40, 5, ""}, {0, 0, ""}} {
		put("/tmp/digits", "", "0123456789")
		var got bytes.Buffer
		var part api.Part
		err := p.Get(t.Context(), "/tmp/digits", tt.offset, tt.length, func(is api.Part) error { part = is; return nil }, &got)
		if err != nil || got.String() != tt.want || part.Size != 10 || part.Length != int64(len(tt.want)) {
			t.Errorf("%d bytes from %d: %q, %+v, %v; want %q", tt.length, tt.offset, &got, part, err, tt.want)
		}
	}

	// Directories.
	for want, made := range []bool{true, false} {
		if m, err := p.MakeDir(t.Context(), "/tmp/d/e/f", "0700"); err != nil || m.Made != made {
			t.Errorf("mkdir, time %d: %+v, %v", want+1, m, err)
		}
	}
	put("/tmp/d/e/f/x", "", "x")
	list, err := p.List(t.Context(), "/tmp/d", api.PathListing{Depth: 3})
	var names []string
	for _, e := range list.Entries {
		names = append(names, e.Permissions+" "+e.Path)
	}
	if want := "drwxr-xr-x /tmp/d/e, drwx------ /tmp/d/e/f, -rw-r--r-- /tmp/d/e/f/x"; err != nil || strings.Join(names, ", ") != want {
		t.Errorf("list: %q, %v; want %s", names, err, want)
	}

	for _, m := range []struct {
		from, to string
		replace  bool
		code     api.Code
	}{
		{"/tmp/d", "/tmp/moved/d", false, ""}, {"/tmp/mine", "/tmp/digits", false, api.CodeFileConflict}, {"/tmp/mine", "/tmp/digits", true, ""},
		{"/tmp/digits", "/box/over/there", false, ""}, {"/tmp/moved", "/box/moved", false, api.CodeFileConflict},
		{"/tmp/a/b/file", "/box/over/there", false, api.CodeFileConflict}, {"/tmp/moved", "/tmp/moved/d/e", false, api.CodeFileConflict},
		{"/etc/passwd", "/tmp/passwd", false, api.CodeFileDenied}, {"/proc/version", "/tmp/version", false, api.CodeFileDenied},
		{"/nothing", "/tmp/x", false, api.CodeNotFound},
	} {
		if err := p.Move(t.Context(), m.from, m.to, m.replace); m.code != "" {
			harness.WantCode(t, err, m.code)
		} else if err != nil {
			t.Errorf("move %s %s: %v", m.from, m.to, err)
		}
	}
	a.WantOutput(t, s.ID, "cat /box/over/there; stat -c %a /box/over/there; find /tmp/moved; ls /tmp",
		"mine\n640\n/tmp/moved\n/tmp/moved/d\n/tmp/moved/d/e\n/tmp/moved/d/e/f\n/tmp/moved/d/e/f/x\na\nlink\nmoved\n")

	harness.WantCode(t, p.Remove(t.Context(), "/tmp/moved", false), api.CodeFileConflict)
	for _, path := range []string{"/tmp/moved", "/tmp/link", "/box/tmp", "/tmp/a"} {
		if err := p.Remove(t.Context(), path, true); err != nil {
			t.Errorf("remove %s: %v", path, err)
		}
	}
	a.WantOutput(t, s.ID, "ls -A /tmp; ls -A /box | wc -l", "3\n")
	for _, path := range []string{"/tmp", "/box", "/"} {
		harness.WantCode(t, p.Remove(t.Context(), path, true), api.CodeFileDenied)
	}
	a.WantOutput(t, s.ID, "ls -A /box | wc -l", "3\n") // nothing was removed
	if err := p.Link(t.Context(), "/tmp/deep/link", "../../etc/passwd"); err != nil {
		t.Error(err)
	}
	a.WantOutput(t, s.ID, "readlink /tmp/deep/link", "../../etc/passwd\n")
}

// Writes count as memory of the session and fit into its scratch, or change nothing.
func TestSessionPathsAreCharged(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	p := a.Paths(s.ID)
	large := bytes.Repeat([]byte("x"), 9<<20)
	if err := p.Put(t.Context(), "/tmp/file", "", bytes.NewReader(large)); err != nil {
		t.Fatal(err)
	}
	harness.WantCode(t, p.Put(t.Context(), "/tmp/file", "", bytes.NewReader(large)), api.CodeNoSpace)
	harness.WantCode(t, p.Put(t.Context(), "/dev/shm/second", "", bytes.NewReader(large)), api.CodeNoSpace)
	a.WantOutput(t, s.ID, "stat -c %s /tmp/file; ls -A /tmp /dev/shm", "9437184\n/dev/shm:\n\n/tmp:\nfile\n")
	is, err := a.Session(t.Context(), s.ID)
	if err != nil || is.Usage.Memory.Value == nil || *is.Usage.Memory.Value < 9<<20 {
		t.Errorf("memory of the session: %+v, %v", is.Usage.Memory, err)
	}
	broken := api.Refuse(api.CodeBadRequest, "x")
	if err := p.Put(t.Context(), "/tmp/other", "", &brokenSource{left: 1 << 20, err: broken}); err == nil {
		t.Error("a write that broke off was accepted")
	}
	a.WantOutput(t, s.ID, "ls -A /tmp", "file\n")
}

type brokenSource struct {
	left int
	err  error
}

func (b *brokenSource) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.err
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

// PTH-01 to PTH-10: what a program may not, its caller may not either; and nothing leads out.
func TestHostilePathsInASession(t *testing.T) {
	a := harness.StartAgent(t)
	dir := harness.PublicDir(t, "canary-")
	file := harness.NewBystander(t, dir, "file")
	s := a.NewSession(t, nil)
	p := a.Paths(s.ID)
	make := harness.CompileC(t, "make", `#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <fcntl.h>
int main(void) {
	mkfifo("/tmp/fifo", 0666); mkdir("/tmp/dir", 0777);
	struct sockaddr_un a = {AF_UNIX, "/tmp/socket"}; bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a);
	ftruncate(open("/tmp/sparse", O_CREAT | O_RDWR, 0666), 15 << 20);
	close(open("/tmp/shut", O_CREAT | O_WRONLY, 0)); mkdir("/tmp/closed", 0); close(open("/tmp/suid", O_CREAT | O_WRONLY, 0644));
	return 0; }`)
	if err := p.Put(t.Context(), "/box/make", "0755", bytes.NewReader(make.Content)); err != nil {
		t.Fatal(err)
	}
	a.Shell(t, s.ID, "/box/make; :")
	a.WantOutput(t, s.ID, fmt.Sprintf("cd /tmp; ln -s %s host; ln -s %s hostdir; ln -s ../../../../../..%s climb; ln -s /proc/self self; "+
		"ln -s /proc/1/root root; ln -s loop loop; ln -s /dev/zero zero; ln -s fifo tofifo", file.Path, dir, dir), "")

	hidden := []string{
		// PTH-01: links that lead out of the session lead to what has that name in it, which is nothing.
		"/tmp/host", "/tmp/hostdir/file", "/tmp/climb/file", file.Path, "/../../.." + file.Path,
		// PTH-02, PTH-03, PTH-04: processes, their links that are no names, and files of the kernel.
		"/proc/1/root/etc/passwd", "/proc/self/root/etc/passwd", "/tmp/self/environ", "/tmp/root/etc/passwd", "/proc/1/environ", "/proc/1/mem",
		"/proc/1/maps", "/proc/self/fd/0", "/proc/thread-self/root", "/proc/self/exe", "/proc/sys/kernel/hostname", "/proc/version",
		"/proc/self/mountinfo", "/dev/fd/0", "/dev/stdin", "/dev/stdout", fmt.Sprintf("/proc/%d/environ", os.Getpid()), "/sys/kernel/notes",
		// PTH-05: what the program may not read.
		"/tmp/shut", "/tmp/closed/x", "/proc/kcore",
		// PTH-06, PTH-07: what is not a regular file: neither blocks nor is opened.
		"/tmp/fifo", "/tmp/tofifo", "/tmp/socket", "/dev/zero", "/dev/null", "/tmp/zero", "/dev/full", "/tmp/loop", "/tmp/dir", "/",
	}
	for _, path := range hidden {
		if got, err := getPath(t, a, s.ID, path); err == nil || strings.Contains(got, corpus.Secret) {
			t.Errorf("get %s: %q, %v; want a refusal", path, got, err)
		} else if e := harness.WantCode(t, err, codeOfRefusal(err)); e.Code == api.CodeInternal {
			t.Errorf("get %s: %v", path, err)
		}
	}
	for _, path := range []string{"/proc", "/proc/self", "/proc/1", "/tmp/self", "/tmp/closed", "/tmp/hostdir", "/sys"} {
		if l, err := p.List(t.Context(), path, api.PathListing{Depth: 3}); err == nil && len(l.Entries) > 0 {
			t.Errorf("list %s: %+v", path, l)
		}
	}

	// The same program may read these.
	if got, err := getPath(t, a, s.ID, "/tmp/sparse"); err != nil || len(got) != 15<<20 {
		t.Errorf("a sparse file: %d bytes, %v", len(got), err)
	}
	if err := p.Link(t.Context(), "/tmp/hard", "/etc/shadow"); err != nil { // a symbolic link is as good as its target's rights
		t.Error(err)
	}
	for _, path := range []string{"/etc/x", "/bin/sh", "/etc/passwd", "/usr/x/y", "/proc/x", "/proc/self/x", "/dev/x",
		"/dev/null", "/sys/x", "/new", "/tmp/closed/x"} {
		if err := p.Put(t.Context(), path, "", strings.NewReader("x")); err == nil {
			t.Errorf("%s was written", path)
		}
		if err := p.Remove(t.Context(), path, true); err == nil {
			t.Errorf("%s was removed", path)
		}
	}

	// PTH-08: no bit of these is set by an upload, whoever asks and whatever was there.
	for _, mode := range []string{"4755", "02755", "1755", "7777"} {
		harness.WantCode(t, p.Put(t.Context(), "/tmp/suid", mode, strings.NewReader("x")), api.CodeBadFile)
		_, err := p.MakeDir(t.Context(), "/tmp/suiddir", mode)
		harness.WantCode(t, err, api.CodeBadFile)
	}
	a.Shell(t, s.ID, "chmod 6755 /tmp/suid; :")
	if err := p.Put(t.Context(), "/tmp/suid", "", strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	if st, err := p.Status(t.Context(), "/tmp/suid", false); err != nil || st.Mode&0o7000 != 0 {
		t.Errorf("after an upload: %+v, %v", st, err)
	}

	// A link or a FIFO in the place of a file is replaced, and not written through.
	for _, path := range []string{"/tmp/host", "/tmp/fifo", "/tmp/loop", "/tmp/zero"} {
		if err := p.Put(t.Context(), path, "", strings.NewReader("put")); err != nil {
			t.Errorf("put over %s: %v", path, err)
		}
		if got, err := getPath(t, a, s.ID, path); err != nil || got != "put" {
			t.Errorf("%s after that: %q, %v", path, got, err)
		}
	}
	if file.Touched(t) {
		t.Error("the host's file has changed")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("in the host's directory: %v, %v", left, err)
	}

	long := "/tmp/" + strings.Repeat(strings.Repeat("n", 255)+"/", 16)
	for _, path := range []string{"", "relative", "x\x00y", "/tmp/\x00", "/" + strings.Repeat("n", 256), long + "x"} {
		_, err := getPath(t, a, s.ID, path)
		harness.WantCode(t, err, api.CodeBadFile)
		harness.WantCode(t, p.Put(t.Context(), path, "", strings.NewReader("x")), api.CodeBadFile)
		harness.WantCode(t, p.Remove(t.Context(), path, false), api.CodeBadFile)
		harness.WantCode(t, p.Move(t.Context(), "/tmp/suid", path, true), api.CodeBadFile)
	}
}

func codeOfRefusal(err error) api.Code {
	for _, c := range []api.Code{api.CodeNotFound, api.CodeFileDenied, api.CodeFileConflict} {
		if e, is := err.(*api.Error); is && e.Code == c { //nolint:errorlint // as the client returns it
			return c
		}
	}
	return api.CodeFileDenied
}

// PTH-01, PTH-05: a program that swaps names during accesses by absolute paths, as fast as it can, neither gets a file
// of the host touched, nor one that it may not touch itself, nor makes brig hang or fail.
func TestHostileSwapsOfPaths(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	dir := harness.PublicDir(t, "canary-")
	file := harness.NewBystander(t, dir, "x")
	s := a.NewSession(t, nil)
	p := a.Paths(s.ID)
	swap := harness.CompileC(t, "swap", fmt.Sprintf(`#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>
int main(void) {
	chdir("/tmp"); mkdir("real", 0777); close(open("real/x", O_CREAT | O_WRONLY, 0666));
	symlink("%[1]s", "host"); symlink("/etc", "etc"); symlink("/proc/self/root%[1]s", "magic"); symlink("/dev", "dev");
	for (;;) {
		renameat2(AT_FDCWD, "real", AT_FDCWD, "host", RENAME_EXCHANGE); renameat2(AT_FDCWD, "real", AT_FDCWD, "host", RENAME_EXCHANGE);
		renameat2(AT_FDCWD, "real", AT_FDCWD, "etc", RENAME_EXCHANGE); renameat2(AT_FDCWD, "real", AT_FDCWD, "etc", RENAME_EXCHANGE);
		renameat2(AT_FDCWD, "real", AT_FDCWD, "magic", RENAME_EXCHANGE); renameat2(AT_FDCWD, "real", AT_FDCWD, "magic", RENAME_EXCHANGE);
		renameat2(AT_FDCWD, "real", AT_FDCWD, "dev", RENAME_EXCHANGE); renameat2(AT_FDCWD, "real", AT_FDCWD, "dev", RENAME_EXCHANGE);
	}
}`, dir))
	if err := p.Put(t.Context(), "/box/swap", "755", bytes.NewReader(swap.Content)); err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, s.ID, "/box/swap >/dev/null 2>&1 & until test -L /tmp/dev || test -L /tmp/real; do :; done", "")

	var all sync.WaitGroup
	for _, work := range []func() error{
		func() error {
			got, err := getPath(t, a, s.ID, "/tmp/real/x")
			if strings.Contains(got, corpus.Secret) {
				t.Error("the host's file was read")
			}
			return err
		},
		func() error { return p.Put(t.Context(), "/tmp/real/x", "", strings.NewReader("put")) },
		func() error { return p.Put(t.Context(), "/tmp/real/n/x", "", strings.NewReader("put")) },
		func() error { return p.Remove(t.Context(), "/tmp/real/n", true) },
		func() error { return p.Move(t.Context(), "/tmp/real/x", "/tmp/real/y", true) },
		func() error { _, err := p.List(t.Context(), "/tmp", api.PathListing{Depth: 3}); return err },
	} {
		all.Go(func() {
			worked := 0
			for range harness.Rounds(150) {
				err := work()
				if err == nil {
					worked++
					continue
				}
				if c := codeOfRefusal(err); err.(*api.Error).Code != c { //nolint:errorlint // as the client returns it
					t.Errorf("%v", err)
					return
				}
			}
			if worked == 0 {
				t.Error("one of the operations never worked")
			}
		})
	}
	all.Wait()
	if file.Touched(t) {
		t.Error("the host's file has changed")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("in the host's directory: %v, %v", left, err)
	}
	if err := a.DeleteSession(context.Background(), s.ID); err != nil {
		t.Error(err)
	}
}

// PTH-09: a directory of many entries is listed in pages that are bounded, and removed; the session can end meanwhile.
func TestPathsOfManyFiles(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, func(r *api.SessionRequest) { r.Limits.Inodes, r.Limits.Memory = 60_000, 256*api.MiB })
	p := a.Paths(s.ID)
	fill := harness.CompileC(t, "fill", `#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) { char n[32]; mkdir("/tmp/many", 0777); chdir("/tmp/many");
	for (int i = 0; i < 50000; i++) { sprintf(n, "f%05d", i); if (close(open(n, O_CREAT | O_WRONLY, 0666))) return 1; } return 0; }`)
	if err := p.Put(t.Context(), "/box/fill", "755", bytes.NewReader(fill.Content)); err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, s.ID, "/box/fill", "")

	l, seen, last := api.PathListing{Limit: api.PathListMax}, 0, ""
	for {
		page, err := p.List(t.Context(), "/tmp/many", l)
		if err != nil || len(page.Entries) > api.PathListMax {
			t.Fatalf("%d entries, %v", len(page.Entries), err)
		}
		for _, e := range page.Entries {
			if e.Path <= last {
				t.Fatalf("%s after %s", e.Path, last)
			}
			last = e.Path
		}
		seen += len(page.Entries)
		if page.Next == "" {
			break
		}
		l.After = page.Next
	}
	if seen != 50_000 {
		t.Errorf("%d entries of 50000", seen)
	}
	if err := p.Remove(t.Context(), "/tmp/many", true); err != nil {
		t.Error(err)
	}
	a.WantOutput(t, s.ID, "ls -A /tmp", "")
}

// The same paths of a volume, whose files are on a disk, and of a session that owns its image.
func TestPathsOfVolumesAndWritableRoots(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, func(r *api.SessionRequest) {
		r.Volume, r.WritableRoot = &api.VolumeRequest{Name: "v", Size: 16 * api.MiB}, true
	})
	p := a.Paths(s.ID)
	for _, path := range []string{"/workspace/a/b", "/etc/new", "/opt/x/y", "/etc/passwd"} {
		if err := p.Put(t.Context(), path, "", strings.NewReader("put")); err != nil {
			t.Errorf("put %s: %v", path, err)
		}
		if got, err := getPath(t, a, s.ID, path); err != nil || got != "put" {
			t.Errorf("get %s: %q, %v", path, got, err)
		}
		if st, err := p.Status(t.Context(), path, false); err != nil || st.Owner != "sandboxuser" {
			t.Errorf("stat %s: %+v, %v", path, st, err)
		}
	}
	a.WantOutput(t, s.ID, "stat -c '%u %a' /workspace/a /workspace/a/b /etc/new /opt/x/y; echo more >> /workspace/a/b",
		"1000 755\n1000 644\n1000 644\n1000 644\n")
	harness.WantCode(t, p.Put(t.Context(), "/workspace/large", "", bytes.NewReader(bytes.Repeat([]byte("x"), 20<<20))), api.CodeNoSpace)
	if err := p.Move(t.Context(), "/workspace/a/b", "/opt/moved", false); err != nil {
		t.Error(err)
	}
	a.WantOutput(t, s.ID, "cat /opt/moved; ls -A /workspace/a; ls -A /workspace", "putmore\na\n")
	if err := p.Remove(t.Context(), "/opt", true); err != nil {
		t.Errorf("remove /opt: %v", err)
	}

	// A session ends while a file of its volume is being written: nothing keeps the volume.
	source := &slowSource{begun: make(chan struct{}), end: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- p.Put(context.Background(), "/workspace/slow", "", source) }()
	<-source.begun
	if err := a.DeleteSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	close(source.end)
	if err := <-done; err == nil {
		t.Error("a file was written after the end of the session")
	}
	again := a.NewSession(t, func(r *api.SessionRequest) { r.Volume = &api.VolumeRequest{Name: "v"} })
	a.WantOutput(t, again.ID, "ls -A /workspace", "a\n")
}

type slowSource struct {
	begun, end chan struct{}
	once       sync.Once
}

func (s *slowSource) Read(p []byte) (int, error) {
	first := false
	s.once.Do(func() { first = true; close(s.begun) })
	if first {
		return copy(p, "begin"), nil
	}
	<-s.end
	return copy(p, "more"), nil
}
