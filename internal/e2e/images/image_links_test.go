package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// countNames prints how many files of /one have a second name in /two, how many names are in the
// root, and when the root was last changed.
const countNames = `#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
int main(int argc, char **argv) {
	int same = 0, names = 0; struct stat a, b; char one[64], two[64];
	for (int i = 0; i < atoi(argv[1]); i++) {
		sprintf(one, "/one/%d", i); sprintf(two, "/two/%d", i);
		same += stat(one, &a) == 0 && stat(two, &b) == 0 && a.st_ino == b.st_ino && a.st_nlink == 2 && a.st_size == 65536;
	}
	DIR *d = opendir("/"); while (readdir(d)) names++;
	stat("/", &a);
	printf("%d %d %ld\n", same, names, (long)a.st_mtime);
}`

// importLinkedImage stores an image with the given number of files of 64 KiB, each of which has two names. Its
// root has files named 0 and 1.
func importLinkedImage(t *testing.T, a *harness.Agent, files int, program api.File) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	var err error
	add := func(name, link string, mode int64, content []byte) {
		h := tar.Header{Name: name, Linkname: link, Mode: mode, Size: int64(len(content))}
		if link != "" {
			h.Typeflag = tar.TypeLink
		}
		herr := w.WriteHeader(&h)
		_, werr := w.Write(content)
		err = errors.Join(err, herr, werr)
	}

	for i := range files {
		add(fmt.Sprintf("one/%d", i), "", 0o644, bytes.Repeat([]byte{byte(i)}, 1<<16))
	}

	for i := range files {
		add(fmt.Sprintf("two/%d", i), fmt.Sprintf("one/%d", i), 0o644, nil)
	}

	add("0", "", 0o644, []byte("zero"))
	add("1", "0", 0o644, nil)
	add(program.Name, "", 0o755, program.Content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(t.Context(), &archive, "linked", ""); err != nil {
		t.Fatal(err)
	}
}

// RES-25: an image of many files with several names runs in mode exclusive, too: its copy has each
// file once, under both names, and nothing else. Each file is also held only once, however many
// names lead to it.
func TestExclusiveCopiesFilesOfSeveralNames(t *testing.T) {
	a := startAgentAlone(t)
	const files = 1500
	importLinkedImage(t, a, files, harness.CompileC(t, "names", countNames))
	said := map[api.Mode]string{}
	for _, mode := range []api.Mode{api.Strict, api.Exclusive} {
		res := a.MustRun(t, api.Run{Image: "linked", Argv: []string{"/names", fmt.Sprint(files)}, Mode: mode,
			Limits: api.Limits{Wall: harness.Seconds(20)}})
		harness.WantVerdict(t, res, api.OK)
		said[mode] = string(res.Stdout)
	}

	var same, names int
	if _, err := fmt.Sscan(said[api.Strict], &same, &names); err != nil || same != files {
		t.Fatalf("in mode strict the program says %q", said[api.Strict])
	}
	if said[api.Exclusive] != said[api.Strict] {
		t.Errorf("in mode exclusive the program says %q; want %q", said[api.Exclusive], said[api.Strict])
	}

	h, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	const content = files << 16
	if h.ImagesWanted < content || h.ImagesWanted > content+8<<20 || h.ImagesHeld != h.ImagesWanted {
		t.Errorf("%d bytes are held, %d wanted; want some more than %d, each file once", h.ImagesHeld, h.ImagesWanted, content)
	}

	for deadline := harness.Patience(); h.Leased != 0 || h.Memory != 0; time.Sleep(10 * time.Millisecond) {
		if h, err = a.Health(t.Context()); err != nil || time.Now().After(deadline) {
			t.Fatalf("after the runs %+v, %v", h, err)
		}
	}
}

// An image whose /etc/passwd leads to a larger file is stored with a copy of that file in its
// place; in mode exclusive there is space for both.
func TestExclusiveCopiesLargeAccounts(t *testing.T) {
	a := startAgentAlone(t)
	var archive, accounts bytes.Buffer
	for i := range 16000 {
		fmt.Fprintf(&accounts, "u%d:x:%d:1:an ordinary account of this image:/:/bin/sh\n", i, 2000+i)
	}

	done := harness.CompileC(t, "done", `int main(void) { return 0; }`)
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "etc/passwd", Typeflag: tar.TypeSymlink, Linkname: "../accounts", Mode: 0o777})
	for name, content := range map[string][]byte{"accounts": accounts.Bytes(), done.Name: done.Content} {
		herr := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))})
		_, werr := w.Write(content)
		err = errors.Join(err, herr, werr)
	}

	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Import(t.Context(), &archive, "accounts", ""); err != nil {
		t.Fatal(err)
	}

	harness.WantVerdict(t, a.MustRun(t,
		api.Run{Image: "accounts", Argv: []string{"/" + done.Name}, Mode: api.Exclusive, Limits: api.Limits{Wall: harness.Seconds(20)}}), api.OK)
}
