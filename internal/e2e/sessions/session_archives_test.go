package sessions

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/service/client"
)

// wantProblem demands a problem of the service with a status and a code.
func wantProblem(t testing.TB, err error, status int, code api.Code) {
	t.Helper()
	var p *api.Problem
	if !errors.As(err, &p) || p.Status != status || p.Code != code {
		t.Errorf("%v; want %d %s", err, status, code)
	}
}

// A client of the service works on absolute paths of its own sessions; another key's do not exist for it.
func TestPathsByTheService(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	var made api.Session
	small := api.Limits{Memory: 64 * api.MiB, Scratch: 8 * api.MiB}
	ann.Call("POST", "/v1/sessions", api.SessionRequest{Image: "tiny", Limits: small}, 201, &made)
	fs := "/v1/sessions/" + made.ID + "/fs"

	ann.Call("PUT", fs+"/content?path=/tmp/a/file&mode=0640", strings.NewReader("0123456789"), 204, nil)
	var st api.PathStatus
	ann.Call("GET", fs+"?path=/tmp/a/file", nil, 200, &st)
	if st.Permissions != "-rw-r-----" || st.Size != 10 || st.Owner != "sandboxuser" || st.Path != "/tmp/a/file" {
		t.Errorf("stat: %+v", st)
	}
	if res := ann.ExecIn(made.ID, "cat /tmp/a/file; ln -s file /tmp/a/link; mkdir /tmp/a/d"); string(res.Stdout) != "0123456789" {
		t.Errorf("a program reads %q", res.Stdout)
	}

	for _, tt := range []struct {
		asks, want, says string
		status           int
	}{
		{"", "0123456789", "", 200}, {"bytes=2-4", "234", "bytes 2-4/10", 206}, {"bytes=7-", "789", "bytes 7-9/10", 206},
		{"bytes=-2", "89", "bytes 8-9/10", 206}, {"bytes=0-99", "0123456789", "bytes 0-9/10", 206}, {"bytes=10-", "", "bytes */10", 416},
		{"bytes=99999999999999999999-", "", "bytes */10", 416}, {"bytes=4-2", "0123456789", "", 200}, {"bytes=0-1,3-4", "0123456789", "", 200},
		{"lines=1-2", "0123456789", "", 200}, {"bytes=-0", "", "bytes */10", 416}, {"bytes=x-", "0123456789", "", 200},
	} {
		res, err := ann.Send(t.Context(), "GET", fs+"/content?path=/tmp/a/link", nil, "Range", tt.asks)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tt.status || res.Header.Get("Content-Range") != tt.says || tt.status < 300 && string(got) != tt.want {
			t.Errorf("%q: %d, %q, %q, %v", tt.asks, res.StatusCode, res.Header.Get("Content-Range"), got, err)
		}
	}
	res, err := ann.Send(t.Context(), "HEAD", fs+"/content?path=/tmp/a/file", nil)
	if err != nil || res.StatusCode != 200 || res.ContentLength != 10 || res.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("HEAD: %+v, %v", res, err)
	}
	res.Body.Close()

	var list api.PathList
	ann.Call("GET", fs+"/list?path=/tmp&depth=2&limit=2", nil, 200, &list)
	if len(list.Entries) != 2 || list.Entries[0].Path != "/tmp/a" || list.Next == "" {
		t.Errorf("list: %+v", list)
	}
	ann.Call("GET", fs+"/list?path=/tmp&depth=2&after="+list.Next, nil, 200, &list)
	if len(list.Entries) != 2 || list.Entries[1].Target != "file" {
		t.Errorf("the rest of the list: %+v", list)
	}
	var dir api.PathMade
	ann.Call("POST", fs+"/mkdir?path=/tmp/x/y&mode=700", nil, 200, &dir)
	ann.Call("POST", fs+"/move?from=/tmp/a/file&to=/tmp/x/y/file", nil, 204, nil)
	ann.Call("POST", fs+"/link?path=/tmp/x/l&target=/etc/passwd", nil, 204, nil)
	ann.Call("DELETE", fs+"?path=/tmp/x&recursive=true", nil, 204, nil)

	for _, tt := range []struct {
		method, path string
		status       int
		code         api.Code
	}{
		{"GET", "?path=/tmp/none", 404, api.CodeNotFound}, {"GET", "/content?path=/tmp/none", 404, api.CodeNotFound},
		{"GET", "/content?path=/tmp", 409, api.CodeFileConflict}, {"GET", "/list?path=/etc/passwd", 409, api.CodeFileConflict},
		{"GET", "/content?path=/proc/1/environ", 404, api.CodeNotFound}, {"GET", "/content?path=/proc/version", 404, api.CodeNotFound},
		{"GET", "/content?path=/dev/zero", 409, api.CodeFileConflict}, {"GET", "/content?path=tmp", 400, api.CodeBadFile},
		{"GET", "/content", 400, api.CodeBadFile}, {"GET", "?path=/tmp&follow=maybe", 400, api.CodeBadRequest},
		{"GET", "?path=/tmp&file=x", 400, api.CodeBadRequest}, {"GET", "/list?path=/tmp&depth=33", 400, api.CodeBadRequest},
		{"GET", "/list?path=/tmp&after=x", 400, api.CodeBadRequest}, {"POST", "/mkdir?path=/etc/x", 403, api.CodeFileDenied},
		{"POST", "/mkdir?path=/tmp/d&mode=4755", 400, api.CodeBadFile}, {"POST", "/move?from=/tmp/a&to=x", 400, api.CodeBadFile},
		{"DELETE", "?path=/tmp/a", 409, api.CodeFileConflict}, {"DELETE", "?path=/", 403, api.CodeFileDenied},
		{"GET", "/tar?path=/etc/passwd", 409, api.CodeFileConflict}, {"GET", "/tar?path=/tmp/none", 404, api.CodeNotFound},
	} {
		if tt.path == "/content?path=/proc/version" || tt.path == "/content?path=/proc/1/environ" {
			res, err := ann.Send(t.Context(), tt.method, fs+tt.path, nil)
			if err != nil || res.StatusCode != 404 && res.StatusCode != 403 {
				t.Errorf("%s: %+v, %v", tt.path, res, err)
			}
			res.Body.Close()
			continue
		}
		ann.Refused(tt.method, fs+tt.path, nil, tt.status, tt.code)
	}
	for _, path := range []string{"/etc/x", "/dev/null", "/proc/x"} {
		res, err := ann.Send(t.Context(), "PUT", fs+"/content?path="+path, strings.NewReader("x"))
		if err != nil || res.StatusCode != 403 && res.StatusCode != 404 {
			t.Errorf("PUT %s: %+v, %v", path, res, err)
		}
		res.Body.Close()
	}
	ann.Refused("PUT", fs+"/content?path=/tmp/large", bytes.NewReader(make([]byte, 9<<20)), 507, api.CodeNoSpace)
	if res := ann.ExecIn(made.ID, "ls -A /tmp"); string(res.Stdout) != "a\n" {
		t.Errorf("left after a file that does not fit: %q", res.Stdout)
	}

	for _, tt := range []struct{ method, path string }{
		{"GET", "?path=/tmp"}, {"DELETE", "?path=/tmp/a&recursive=true"}, {"GET", "/list?path=/tmp"}, {"GET", "/content?path=/etc/passwd"},
		{"PUT", "/content?path=/tmp/x"}, {"POST", "/mkdir?path=/tmp/x"}, {"POST", "/link?path=/tmp/x&target=y"},
		{"POST", "/move?from=/tmp/a&to=/tmp/b"}, {"GET", "/tar?path=/tmp"}, {"PUT", "/tar?path=/tmp"},
	} {
		var body any
		if tt.method == "PUT" {
			body = strings.NewReader("x")
		}
		bob.Refused(tt.method, fs+tt.path, body, 404, api.CodeNotFound)
	}
	ann.Call("DELETE", "/v1/sessions/"+made.ID, nil, 204, nil)
	ann.Refused("GET", fs+"?path=/tmp", nil, http.StatusGone, api.CodeSessionEnded)
}

// A directory goes out as a tar and comes back as it was, with the Go client.
func TestArchivesOfDirectories(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	c := client.New(s.Url, "")
	made, err := c.CreateSession(t.Context(), api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB}})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Paths(made.ID)
	const show = `cd %s; ls "a b" | wc -l; find . | grep -v "^./a b/" | sort | while read -r n; do
		stat -c '%%n %%F %%a' "$n"; test -L "$n" && readlink "$n"
		test -f "$n" && cat "$n"; done; :`
	s.ExecIn(made.ID, `mkdir -p /tmp/from/d/e "/tmp/from/a b"; cd /tmp/from; echo one >d/one; echo two >d/e/two
		chmod 755 d/one; chmod 700 d/e;
		ln -s d/one link; ln -s /nowhere dangling; : >empty; mkfifo fifo; echo no >unreadable; chmod 0 unreadable
		n=0; while test $n -lt 1100; do : >"a b/$n"; n=$((n+1)); done`)
	var archive bytes.Buffer
	if err := p.GetTar(t.Context(), "/tmp/from", &archive); err != nil {
		t.Fatal(err)
	}
	done, err := p.PutTar(t.Context(), "/tmp/to/new", bytes.NewReader(archive.Bytes()))
	if err != nil || done.Entries != 1108 || done.Bytes != 8 {
		t.Fatalf("unpacked: %+v, %v", done, err)
	}
	s.ExecIn(made.ID, "rm -f /tmp/from/fifo /tmp/from/unreadable")
	before, after := s.ExecIn(made.ID, fmt.Sprintf(show, "/tmp/from")), s.ExecIn(made.ID, fmt.Sprintf(show, "/tmp/to/new"))
	if !bytes.Equal(before.Stdout, after.Stdout) || !strings.Contains(string(after.Stdout), "./d/one regular file 755\none\n") {
		t.Errorf("came back as\n%.2000s\nwant\n%.2000s", after.Stdout, before.Stdout)
	}

	for _, bad := range [][]byte{[]byte("no tar"), archive.Bytes()[:archive.Len()/2+100], {0x1f, 0x8b, 8, 0}} {
		_, err := p.PutTar(t.Context(), "/tmp/bad", bytes.NewReader(bad))
		wantProblem(t, err, 400, api.CodeBadFile)
	}
	_, err = p.PutTar(t.Context(), "/etc", bytes.NewReader(archive.Bytes()))
	wantProblem(t, err, 403, api.CodeFileDenied)
	if status, err := p.Status(t.Context(), "/tmp/to/new/d", false); err != nil || status.Kind != api.Directory {
		t.Errorf("%+v, %v", status, err)
	}
}

// PTH-10: an archive that is uploaded does nothing that its caller could not do by single requests: its names lead
// nowhere but below the directory, its links to nothing that the programs may not read, and it makes no other files.
func TestHostileArchivesInASession(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	dir := harness.PublicDir(t, "canary-")
	file := harness.NewBystander(t, dir, "file")
	s := harness.StartService(t, a, "--max-blob", "32M")
	c := client.New(s.Url, "")
	made, err := c.CreateSession(t.Context(), api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB}})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Paths(made.ID)
	unpack := func(entries ...tar.Header) error {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, h := range entries {
			if h.Typeflag == tar.TypeReg {
				h.Size = 3
			}
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				_, _ = io.WriteString(w, "put")
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := p.PutTar(context.Background(), "/tmp/in", &archive)
		return err
	}
	s.ExecIn(made.ID, "echo secret >/tmp/shut; chmod 0 /tmp/shut; mkdir -p /tmp/in")

	put := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644} }
	if err := unpack(put("../../up"), put("/etc/absolute"), tar.Header{Typeflag: tar.TypeReg, Name: "suid", Mode: 0o6755},
		tar.Header{Typeflag: tar.TypeDir, Name: "sticky", Mode: 0o7777}); err != nil {
		t.Error(err)
	}
	res := s.ExecIn(made.ID, "cd /tmp/in; find . | sort; stat -c %a suid sticky; ls /etc/absolute /up /tmp/up 2>/dev/null")
	if string(res.Stdout) != ".\n./etc\n./etc/absolute\n./sticky\n./suid\n./up\n755\n777\n" {
		t.Errorf("unpacked: %q", res.Stdout)
	}

	link := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	hard := func(to string) tar.Header { return tar.Header{Typeflag: tar.TypeLink, Name: "hard", Linkname: to} }
	for name, entries := range map[string][]tar.Header{
		"through a link out of the session": {link("a", dir), put("a/new")},
		"through a link by ..":              {link("b", "../../../../../../../.."+dir), put("b/new")},
		"through a link to /etc":            {link("c", "/etc"), put("c/new")},
		"through a link that is no name":    {link("d", "/proc/1/root/tmp"), put("d/new")},
		"a hard link to what is shut":       {link("e", "/tmp/shut"), hard("e")},
		"a hard link to the host":           {link("f", file.Path), hard("f")},
		"a hard link to a device":           {link("g", "/dev/zero"), hard("g")},
		"a hard link out of the directory":  {hard("../shut")},
		"a device":                          {{Typeflag: tar.TypeChar, Name: "dev", Mode: 0o666, Devmajor: 1, Devminor: 5}},
		"a FIFO":                            {{Typeflag: tar.TypeFifo, Name: "fifo", Mode: 0o666}},
	} {
		err := unpack(entries...)
		var p *api.Problem
		if name != "through a link out of the session" && name != "through a link by .." && !errors.As(err, &p) {
			t.Errorf("%s: %v; want a refusal", name, err)
		}
		if p != nil && p.Status >= 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if res := s.ExecIn(made.ID, "cd /tmp/in; test -e hard || test -e dev || test -e fifo || echo none"); string(res.Stdout) != "none\n" {
		t.Errorf("there is a hard link, device or FIFO: %q", res.Stdout)
	}

	// A small archive that has one file and many links to it, or a hole, does not write more than an archive may have.
	many := []tar.Header{put("one")}
	for i := range 2000 {
		many = append(many, tar.Header{Typeflag: tar.TypeLink, Name: fmt.Sprintf("l%d", i%2), Linkname: "grown", Mode: 0o644})
	}
	s.ExecIn(made.ID, "head -c 4000000 /dev/zero >/tmp/in/grown")
	wantProblem(t, unpack(many...), 400, api.CodeBadFile)
	if file.Touched(t) {
		t.Error("the host's file has changed")
	}
}
