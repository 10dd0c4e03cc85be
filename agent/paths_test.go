package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// calls is a fake of the files of sessions: it notes what it is asked, and has one file.
type calls struct {
	seen  []string
	file  string
	short int // bytes that are missing at the end of what is read
}

func (c *calls) note(format string, more ...any) {
	c.seen = append(c.seen, fmt.Sprintf(format, more...))
}

func (c *calls) Status(_ context.Context, id, path string, follow bool, _ api.Caller) (api.PathStatus, error) {
	c.note("status %s %q %v", id, path, follow)
	return api.PathStatus{Path: path, Kind: api.RegularFile, Size: int64(len(c.file))}, nil
}

func (c *calls) List(_ context.Context, id, path string, l api.PathListing, hold func(int64) error, _ api.Caller) (api.PathList, error) {
	c.note("list %s %q %d %d %q", id, path, l.Depth, l.Limit, l.After)
	return api.PathList{Next: api.Cursor(path + "/x")}, hold(1)
}

func (c *calls) Open(_ context.Context, id, path string, offset, length int64, _ api.Caller) (api.PathContent, error) {
	c.note("open %s %q %d %d", id, path, offset, length)
	body := io.NopCloser(strings.NewReader(c.file[:len(c.file)-c.short]))
	return api.PathContent{Status: api.PathStatus{Size: int64(len(c.file))}, Length: int64(len(c.file)), Body: body}, nil
}

func (c *calls) Put(_ context.Context, id, path string, mode *uint32, content io.Reader, _ api.Caller) error {
	as := "none"
	if mode != nil {
		as = fmt.Sprintf("%o", *mode)
	}
	text, err := io.ReadAll(content)
	c.note("put %s %q %s %d", id, path, as, len(text))
	return err
}

func (c *calls) MakeDir(_ context.Context, id, path string, mode *uint32, _ api.Caller) (api.PathMade, error) {
	c.note("mkdir %s %q %v", id, path, mode != nil)
	return api.PathMade{Made: true}, nil
}

func (c *calls) Link(_ context.Context, id, path, target string, _ api.Caller) error {
	c.note("link %s %q %q", id, path, target)
	return nil
}

func (c *calls) Move(_ context.Context, id, from, to string, replace bool, _ api.Caller) error {
	c.note("move %s %q %q %v", id, from, to, replace)
	return nil
}

func (c *calls) Remove(_ context.Context, id, path string, recursive bool, _ api.Caller) error {
	c.note("remove %s %q %v", id, path, recursive)
	return nil
}

// statusOf sends a request without a body, and returns the status of its answer.
func statusOf(t *testing.T, socket, method, path string) int {
	t.Helper()
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	fmt.Fprintf(nc, "%s %s HTTP/1.1\r\nHost: brig\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, path)
	res, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// Requests for absolute paths arrive as they were sent, cleaned and with any bytes; others are refused before anything
// is done.
func TestPathRoutes(t *testing.T) {
	fake := &calls{file: "content"}
	socket, _ := serve(t, agent.Config{Paths: fake, MaxFile: 1 << 10})
	c := client.New(socket)
	defer c.Close()
	ctx, p := t.Context(), c.Paths("s/1")

	const odd = "/tmp/ü \xff?&#%2F\n"
	var got bytes.Buffer
	var part api.Part
	_, serr := p.Status(ctx, odd, true)
	l, lerr := p.List(ctx, "/tmp/../a//", api.PathListing{Depth: 3, Limit: 7, After: api.Cursor("/a/b")})
	gerr := p.Get(ctx, odd, -3, 2, func(is api.Part) error { part = is; return nil }, &got)
	_, merr := p.MakeDir(ctx, "/d", "0700")
	for i, err := range []error{serr, lerr, gerr, merr, p.Put(ctx, odd, "640", strings.NewReader("12345")),
		p.Put(ctx, "/x", "", strings.NewReader("")),
		p.Link(ctx, "/l", "../\xff"), p.Move(ctx, "/a", "/b/./c", true), p.Remove(ctx, odd, true)} {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if got.String() != "content" || part != (api.Part{Length: 7, Size: 7}) || l.Next != api.Cursor("/a/x") {
		t.Errorf("%q, %+v, %+v", &got, part, l)
	}
	want := []string{fmt.Sprintf("status s/1 %q true", odd), `list s/1 "/a" 3 7 "/a/b"`, fmt.Sprintf("open s/1 %q -3 2", odd),
		`mkdir s/1 "/d" true`,
		fmt.Sprintf("put s/1 %q 640 5", odd), `put s/1 "/x" none 0`, `link s/1 "/l" "../\xff"`, `move s/1 "/a" "/b/c" true`,
		fmt.Sprintf("remove s/1 %q true", odd)}
	if !slices.Equal(fake.seen, want) {
		t.Errorf("seen\n%s\nwant\n%s", strings.Join(fake.seen, "\n"), strings.Join(want, "\n"))
	}

	fake.seen = nil
	fs := "/v1/sessions/s/fs"
	for _, tt := range []struct{ method, path string }{
		{"GET", fs}, {"GET", fs + "?path=x"}, {"GET", fs + "?path=/%00"}, {"GET", fs + "?path=/x&follow=1"}, {"DELETE", fs + "?path="},
		{"GET", fs + "/list?path=/x&depth=0"}, {"GET", fs + "/list?path=/x&depth=33"}, {"GET", fs + "/list?path=/x&limit=10001"},
		{"GET", fs + "/list?path=/x&after=***"}, {"GET", fs + "/list?path=/x&after=" + api.Cursor("/y/z")},
		{"GET", fs + "/content?path=/x&offset=a"},
		{"GET", fs + "/content?path=/x&length=-1"}, {"POST", fs + "/mkdir?path=/x&mode=4755"}, {"POST", fs + "/link?path=/x"},
		{"POST", fs + "/move?from=/x"}, {"POST", fs + "/move?from=x&to=/y"}, {"GET", fs + "?path=/" + url.QueryEscape(strings.Repeat("n", 256))},
	} {
		if status := statusOf(t, socket, tt.method, tt.path); status != 400 {
			t.Errorf("%s %s: %d; want 400", tt.method, tt.path, status)
		}
	}
	if err := p.Put(ctx, "/x", "7777", strings.NewReader("x")); code(err) != api.CodeBadFile {
		t.Errorf("a mode with more bits: %v", err)
	}
	if len(fake.seen) > 0 {
		t.Errorf("done nevertheless: %q", fake.seen)
	}
	if err := p.Put(ctx, "/x", "", strings.NewReader(strings.Repeat("x", 2<<10))); code(err) != api.CodeTooLarge {
		t.Errorf("a file over the bound: %v", err)
	}

	// A file that becomes shorter while it is sent is no complete answer.
	fake.short = 3
	if err := p.Get(ctx, "/x", 0, -1, nil, io.Discard); err == nil {
		t.Error("a file that was cut came as a whole")
	}
}
