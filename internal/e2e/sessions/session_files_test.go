package sessions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

func getFile(t testing.TB, a *harness.Agent, id, name string) (string, error) {
	t.Helper()
	var got bytes.Buffer
	err := a.GetFile(t.Context(), id, name, &got)
	return got.String(), err
}

// Files are put and fetched byte for byte, whole or not at all, and replace an existing file.
func TestSessionFiles(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	large := make([]byte, 9<<20)
	for i := range large {
		large[i] = byte(i * i >> 7)
	}

	for _, f := range []struct{ name, content string }{
		{"a", "one"}, {"empty", ""}, {"deep/er/still", "two"}, {"with space and ü%2F?&#", "three"}, {"-rf", "four"},
		{"large", string(large)}, {"a", "another"},
	} {
		a.Put(t, s.ID, f.name, f.content)
		if got, err := getFile(t, a, s.ID, f.name); err != nil || got != f.content {
			t.Errorf("%s: %d bytes, %v; want the %d that were put", f.name, len(got), err, len(f.content))
		}
	}

	a.WantOutput(t, s.ID, "cat a deep/er/still; stat -c '%u %a' a deep deep/er deep/er/still; sha256sum < large",
		fmt.Sprintf("anothertwo1000 644\n1000 755\n1000 755\n1000 644\n%x  -\n", sha256.Sum256(large)))
	a.WantOutput(t, s.ID, "echo mine > deep/mine; echo more >> a; ln -s a link; mkdir full; touch full/x; cat a", "anothermore\n")
	if got, err := getFile(t, a, s.ID, "deep/mine"); err != nil || got != "mine\n" {
		t.Errorf("what a program wrote: %q, %v", got, err)
	}

	list, err := a.ListFiles(t.Context(), s.ID, "")
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, f := range list.Files {
		names = append(names, fmt.Sprintf("%s %s %d", f.Kind, f.Name, f.Size))
	}

	if got, want := strings.Join(names, "\n"), `file -rf 4
file a 12
directory deep 0
directory deep/er 0
file deep/er/still 3
file deep/mine 5
file empty 0
directory full 0
file full/x 0
file large 9437184
symlink link 0
file with space and ü%2F?&# 5`; got != want {
		t.Errorf("files:\n%s\nwant\n%s", got, want)
	}

	if list, err := a.ListFiles(t.Context(), s.ID, "deep/er"); err != nil || len(list.Files) != 1 || list.Files[0].Name != "deep/er/still" {
		t.Errorf("below deep/er: %+v, %v", list, err)
	}

	// An interrupted write leaves the existing file, and so does one that does not fit.
	broken := io.MultiReader(strings.NewReader("half"), iotestErr{})
	if err := a.PutFile(t.Context(), s.ID, "a", broken, false); err == nil {
		t.Error("a write that broke off was accepted")
	}

	harness.WantCode(t, a.PutFile(t.Context(), s.ID, "a", bytes.NewReader(large), false), api.CodeTooLarge)
	harness.WantCode(t, a.PutFile(t.Context(), s.ID, "full", strings.NewReader("x"), false), api.CodeBadFile)
	harness.WantCode(t, a.PutFile(t.Context(), s.ID, "a/b", strings.NewReader("x"), false), api.CodeBadFile)
	a.WantOutput(t, s.ID, "cat a; ls -A | grep -c brig || true", "anothermore\n0\n")

	harness.WantCode(t, a.DeleteFile(t.Context(), s.ID, "full"), api.CodeBadFile)
	for _, name := range []string{"full/x", "full", "link", "large"} {
		if err := a.DeleteFile(t.Context(), s.ID, name); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	}

	harness.WantCode(t, a.DeleteFile(t.Context(), s.ID, "large"), api.CodeNotFound)
	_, err = getFile(t, a, s.ID, "large")
	harness.WantCode(t, err, api.CodeNotFound)
	_, err = getFile(t, a, s.ID, "deep")
	harness.WantCode(t, err, api.CodeBadFile)
	_, err = a.ListFiles(t.Context(), s.ID, "a")
	harness.WantCode(t, err, api.CodeNotFound)
	a.WantOutput(t, s.ID, "ls", "-rf\na\ndeep\nempty\nwith space and ü%2F?&#\n")

	// FIO-13: a file that was put can be executed at once, however often.
	probe := harness.CompileC(t, "probe", `int main(void) { return 9; }`)
	for range 50 {
		if err := a.PutFile(t.Context(), s.ID, "probe", bytes.NewReader(probe.Content), true); err != nil {
			t.Fatal(err)
		}
		if res := a.MustExec(t, s.ID, api.Exec{Argv: []string{"./probe"}}); res.ExitCode != 9 {
			t.Fatalf("what was put ended with %s, %d, %s", res.Verdict, res.ExitCode, res.Stderr)
		}
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, errors.New("the source broke") }

// FIO-01, FIO-02, FIO-03, FIO-04, FIO-05, FIO-11: links, and anything but a regular file, lead
// nowhere: neither when read, nor when written, removed or listed, as the last or an earlier part
// of a path. Names that lead to another place are refused, also from a client that sends raw HTTP.
func TestHostileNamesInASession(t *testing.T) {
	a := harness.StartAgent(t)
	dir := harness.PublicDir(t, "canary-")
	file := harness.NewBystander(t, dir, "file")
	s := a.NewSession(t, nil)
	make := harness.CompileC(t, "make", `#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <fcntl.h>
int main(void) {
	mkfifo("fifo", 0666); mknod("null", S_IFCHR | 0666, 0x103);
	struct sockaddr_un a = {AF_UNIX, "socket"}; bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a);
	ftruncate(open("sparse", O_CREAT | O_RDWR, 0666), 15 << 20);
	return 0; }`)
	if err := a.PutFile(t.Context(), s.ID, "make", bytes.NewReader(make.Content), true); err != nil {
		t.Fatal(err)
	}

	a.Shell(t, s.ID, "./make; :")
	a.WantOutput(t, s.ID, fmt.Sprintf("ln -s %s link; ln -s %s dirlink; ln -s / root; ln -s /proc/self self; ln -s "+
		".. up; ln -s loop loop; mkdir dir; ln -s ../link dir/link", file.Path, dir), "")
	for _, name := range []string{"link", "dirlink/file", "root/etc/passwd", "self/environ", "up/tmp", "loop", "dir/link", "dir", "fifo",
		"null", "socket", "dirlink", "link/x", "self/fd/0"} {
		if got, err := getFile(t, a, s.ID, name); err == nil || strings.Contains(got, corpus.Secret) {
			t.Errorf("get %s: %q, %v; want a refusal", name, got, err)
		}
	}

	if got, err := getFile(t, a, s.ID, "sparse"); err != nil || len(got) != 15<<20 {
		t.Errorf("a sparse file: %d bytes, %v", len(got), err)
	}

	for _, name := range []string{"dirlink/new", "root/tmp/new", "self/cwd/new", "up/new", "loop/new"} {
		harness.WantCode(t, a.PutFile(t.Context(), s.ID, name, strings.NewReader("x"), false), api.CodeBadFile)
	}

	for _, name := range []string{"dirlink/file", "root/etc/passwd", "up/box"} {
		harness.WantCode(t, a.DeleteFile(t.Context(), s.ID, name), api.CodeNotFound)
	}

	for _, name := range []string{"dirlink", "root", "self", "up", "self/fd"} {
		_, err := a.ListFiles(t.Context(), s.ID, name)
		harness.WantCode(t, err, api.CodeNotFound)
	}

	// A link in the place of a file is replaced, as is a FIFO, and not written through.
	for _, name := range []string{"link", "dir/link", "loop", "fifo"} {
		a.Put(t, s.ID, name, "put")
		if got, err := getFile(t, a, s.ID, name); err != nil || got != "put" {
			t.Errorf("put over %s: %q, %v", name, got, err)
		}
	}

	if err := a.DeleteFile(t.Context(), s.ID, "root"); err != nil {
		t.Errorf("delete a link: %v", err)
	}
	if file.Touched(t) {
		t.Error("the host's file has changed")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("in the host's directory: %v, %v", left, err)
	}

	for _, name := range []string{"../x", "/etc/passwd", "a//b", "a/../b", ".", "", "a/", "x\x00y", "\xff"} {
		_, err := getFile(t, a, s.ID, name)
		harness.WantCode(t, err, api.CodeBadFile)
	}

	for _, path := range []string{"../../../etc/passwd", "..%2f..%2fetc/passwd", "%2fetc%2fpasswd", "a//b", "./a",
		"a/%2e%2e/b", "%00", "%ff"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			if status := rawRequest(t, a, method, "/v1/sessions/"+s.ID+"/files/"+path); status != http.StatusBadRequest {
				t.Errorf("%s %s: status %d; want 400", method, path, status)
			}
		}
	}
}

// rawRequest sends a request with an uncleaned path, and returns the status.
func rawRequest(t testing.TB, a *harness.Agent, method, path string) int {
	t.Helper()
	c, err := net.Dial("unix", a.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: brig\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, path)
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}

	var status int
	if _, err := fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	return status
}

// FIO-08: a program that swaps names during brig's accesses, as fast as it can, neither causes a
// file of the host to be read, written, owned or removed, nor makes brig hang or fail.
func TestHostileSwapsInASession(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	dir := harness.PublicDir(t, "canary-")
	file, inside := harness.NewBystander(t, dir, "file"), harness.NewBystander(t, dir, "x")
	s := a.NewSession(t, nil)
	swap := harness.CompileC(t, "swap", fmt.Sprintf(`#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>
int main(void) {
	mkdir("real", 0777); mkdir("real/sub", 0777); close(open("real/x", O_CREAT | O_WRONLY, 0666)); close(open("f", O_CREAT | O_WRONLY, 0666));
	symlink("%[1]s", "dlink"); symlink("%[1]s/file", "flink");
	for (;;) {
		renameat2(AT_FDCWD, "real", AT_FDCWD, "dlink", RENAME_EXCHANGE);
		renameat2(AT_FDCWD, "f", AT_FDCWD, "flink", RENAME_EXCHANGE);
		rmdir("new/er"); rename("new", "gone"); symlink("%[1]s", "new"); rmdir("gone/er"); rmdir("gone"); unlink("gone"); unlink("new");
		symlink("%[1]s/file", "f"); symlink("%[1]s", "real");
	}
}`, dir))
	if err := a.PutFile(t.Context(), s.ID, "swap", bytes.NewReader(swap.Content), true); err != nil {
		t.Fatal(err)
	}

	a.WantOutput(t, s.ID, "./swap >/dev/null 2>&1 & until test -d real || test -L real; do :; done", "")
	var wg sync.WaitGroup
	var got, put, refused int
	var mu sync.Mutex
	begun, end := time.Now(), harness.Patience()
	enough := func() bool { // four seconds, and longer on a busy host
		mu.Lock()
		defer mu.Unlock()
		return time.Now().After(end) || time.Since(begun) > harness.Slow(4*time.Second) && got > 0 && put > 0 && refused > 0
	}
	note := func(n *int, err error) {
		mu.Lock()
		defer mu.Unlock()
		var e *api.Error
		switch {
		case err == nil:
			*n++
		case errors.As(err, &e) && (e.Code == api.CodeBadFile || e.Code == api.CodeNotFound):
			refused++
		default:
			t.Errorf("brig failed: %v", err)
		}
	}

	for _, work := range []func(){
		func() {
			for _, name := range []string{"f", "flink", "real/x", "dlink/x", "real/file"} {
				content, err := getFile(t, a, s.ID, name)
				if strings.Contains(content, corpus.Secret) {
					t.Errorf("get %s gave the host's file", name)
				}
				note(&got, err)
			}
		},
		func() {
			for _, name := range []string{"f", "real/x", "dlink/y", "new/er/file", "real/sub/deep/er"} {
				note(&put, a.PutFile(t.Context(), s.ID, name, strings.NewReader("put"), false))
			}
		},
		func() {
			list, err := a.ListFiles(t.Context(), s.ID, "")
			note(new(int), err)
			for _, f := range list.Files {
				if f.Size == int64(len(corpus.Secret)) {
					t.Errorf("listed: %+v", f)
				}
			}
			for _, name := range []string{"real/x", "dlink/file", "flink"} {
				note(new(int), a.DeleteFile(t.Context(), s.ID, name))
			}
			a.Shell(t, s.ID, "touch f real/x 2>/dev/null; :")
		},
	} {
		wg.Go(func() {
			for !enough() {
				work()
			}
		})
	}

	wg.Wait()
	if got == 0 || put == 0 || refused == 0 {
		t.Errorf("%d got, %d put, %d refused: there was no race", got, put, refused)
	}

	for _, b := range []harness.Bystander{file, inside} {
		if b.Touched(t) {
			t.Errorf("%s has changed", b.Path)
		}
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("in the host's directory: %v, %v", left, err)
	}
}

// A caller that is slow, or stops, does not keep a session from ending; it gets an error.
func TestSessionEndsUnderItsReadersAndWriters(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	a.WantOutput(t, s.ID, "head -c 12000000 /dev/zero > large", "")
	stuck, release := io.Pipe()
	results := make(chan error, 2)
	go func() { results <- a.GetFile(context.Background(), s.ID, "large", blockedWriter{stuck}) }()
	body, content := io.Pipe()
	go func() { results <- a.PutFile(context.Background(), s.ID, "new", body, false) }()
	if _, err := content.Write([]byte("some")); err != nil {
		t.Fatal(err)
	}

	time.Sleep(harness.Slow(300 * time.Millisecond)) // until the reader is blocked
	begun := time.Now()
	if err := a.DeleteSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > harness.Slow(20*time.Second) {
		t.Errorf("its end took %s", took)
	}
	if _, err := content.Write([]byte("more")); err != nil {
		t.Logf("the writer already has its answer: %v", err)
	}

	release.Close()
	content.Close()
	for range 2 {
		if err := <-results; err == nil {
			t.Error("a file that the end cut short was reported as complete")
		}
	}
}

// blockedWriter is a writer that waits until its pipe is closed.
type blockedWriter struct{ r *io.PipeReader }

func (b blockedWriter) Write(p []byte) (int, error) {
	_, _ = b.r.Read(make([]byte, 1))
	return len(p), nil
}
