package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// one is a fake of a single session s, which stores the files that it is given.
type one struct {
	t     *testing.T
	files map[string][]byte
	cut   error // the error at which reading a file breaks off
	run   runner
	keeps api.Size // of a list of files
}

func (o *one) known(id string, c api.Caller) error {
	if int(c.UID) != os.Getuid() {
		o.t.Errorf("the caller is %+v; want this process", c)
	}
	if id != "s" {
		return api.Refuse(api.CodeNotFound, "no session has the id %q", id)
	}
	return nil
}

func (o *one) Create(_ context.Context, ask api.SessionRequest, _ time.Duration,
	c api.Caller) (api.Session, error) {
	return api.Session{ID: "s", Image: ask.Image, Idle: 1, Life: 1}, o.known("s", c)
}

func (o *one) List(c api.Caller) []api.Session { return nil }

func (o *one) Get(id string, c api.Caller) (api.Session, error) {
	return api.Session{ID: id, Idle: 1, Life: 1}, o.known(id, c)
}

func (o *one) Use(id string, c api.Caller) (api.Session, error) {
	return api.Session{ID: id, Idle: 2, Life: 2}, o.known(id, c)
}

func (o *one) SetLife(id string, l api.LifeRequest, c api.Caller) (api.Session, error) {
	return api.Session{ID: id, Idle: 1, Life: l.EndsIn}, o.known(id, c)
}

func (o *one) Delete(id string, c api.Caller) error {
	if err := o.known(id, c); err != nil {
		return err
	}
	return api.Refuse(api.CodeSessionEnded, "session s has ended: it was deleted")
}

func (o *one) End(e api.EndRequest, c api.Caller) int {
	if err := o.known("s", c); err != nil || !e.Has(api.Labels{Run: "r"}) {
		return 0
	}
	return 1
}

func (o *one) Exec(ctx context.Context, id string, e api.Exec, s api.Streams, c api.Caller) (api.Result, error) {
	if err := o.known(id, c); err != nil {
		return api.Result{}, err
	}
	return o.run(ctx, api.Run{Argv: e.Argv, Stdin: e.Stdin}, s, c)
}

func (o *one) PutFile(id, name string, volume, executable bool, content io.Reader, c api.Caller) error {
	if err := o.known(id, c); err != nil {
		return err
	}

	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if executable {
		name += "*"
	}

	name = in(volume) + name
	o.files[name] = text
	return nil
}

func (o *one) OpenFile(id, name string, volume bool, c api.Caller) (io.ReadCloser, error) {
	if err := o.known(id, c); err != nil {
		return nil, err
	}
	r := io.Reader(bytes.NewReader(o.files[in(volume)+name]))
	if o.cut != nil {
		r = io.MultiReader(r, iotest.ErrReader(o.cut))
	}
	return io.NopCloser(r), nil
}

func (o *one) RemoveFile(id, name string, volume bool, c api.Caller) error {
	delete(o.files, in(volume)+name)
	return o.known(id, c)
}

func (o *one) ListFiles(ctx context.Context, id, dir string, volume bool, hold func(int64) error, c api.Caller) (api.FileList, error) {
	if err := hold(int64(o.keeps)); err != nil {
		return api.FileList{}, err
	}
	return api.FileList{More: dir == "a b/&"}, o.known(id, c)
}

// in returns the prefix for names in the volume.
func in(volume bool) string {
	if volume {
		return "volume:"
	}
	return ""
}

// Files of the volume are distinct from those of /box, and volumes are listed and removed under any
// valid name.
func TestVolumeRoutes(t *testing.T) {
	o := &one{t: t, files: map[string][]byte{}, run: cat(t)}
	kept := volumesOf{}
	socket, _ := serve(t, agent.Config{Sessions: o, Volumes: kept})
	c := client.New(socket)
	defer c.Close()

	ctx := t.Context()
	box, volume := strings.NewReader("in /box"), strings.NewReader("in the volume")
	if err := errors.Join(c.PutFile(ctx, "s", "a", box, false), c.Workspace("s").Put(ctx, "a", volume, false)); err != nil {
		t.Fatal(err)
	}

	var got, other bytes.Buffer
	if err := errors.Join(c.GetFile(ctx, "s", "a", &got), c.Workspace("s").Get(ctx, "a", &other)); err != nil || got.String() != "in /box" ||
		other.String() != "in the volume" {
		t.Errorf("got %q and %q, %v", &got, &other, err)
	}
	if err := c.Workspace("s").Delete(ctx, "a"); err != nil || len(o.files) != 1 || o.files["a"] == nil {
		t.Errorf("after removing one: %q, %v", o.files, err)
	}
	if _, err := c.Workspace("s").List(ctx, "a b/&"); err != nil {
		t.Error(err)
	}

	for _, name := range []string{"a", "key/project", "ü %2F?&#", "..x", " "} {
		kept[name] = true
		if err := c.DeleteVolume(ctx, name); err != nil || len(kept) != 0 {
			t.Errorf("remove %q: %v, left %v", name, err, kept)
		}
	}

	if err := c.DeleteVolume(ctx, "none"); code(err) != api.CodeConflict {
		t.Errorf("one that is in use: %v", err)
	}

	kept["a"] = true
	if all, err := c.Volumes(ctx); err != nil || len(all) != 1 || all[0].Name != "a" {
		t.Errorf("list: %+v, %v", all, err)
	}
}

type volumesOf map[string]bool

func (v volumesOf) List(api.Caller) (all []api.Volume, err error) {
	for name := range v {
		all = append(all, api.Volume{Name: name, Size: 1})
	}
	return all, nil
}

func (v volumesOf) Remove(_ context.Context, name, _ string, _ api.Caller) error {
	if !v[name] {
		return api.Refuse(api.CodeConflict, "volume %q is in use", name)
	}
	delete(v, name)
	return nil
}

func TestSessionRoutes(t *testing.T) {
	o := &one{t: t, files: map[string][]byte{}, run: cat(t)}
	socket, _ := serve(t, agent.Config{Sessions: o, MaxFile: 1 << 20})
	c := client.New(socket)
	defer c.Close()

	ctx := t.Context()

	if s, err := c.CreateSession(ctx, api.SessionRequest{Image: "tiny"}); err != nil || s.ID != "s" || s.Image != "tiny" {
		t.Errorf("create: %+v, %v", s, err)
	}
	if _, err := c.CreateSession(ctx, api.SessionRequest{}); code(err) != api.CodeBadRequest {
		t.Errorf("create of nothing: %v", err)
	}
	if all, err := c.Sessions(ctx); err != nil || all == nil || len(all) != 0 {
		t.Errorf("an empty list: %#v, %v", all, err)
	}
	if _, err := c.Session(ctx, "other"); code(err) != api.CodeNotFound {
		t.Errorf("another id: %v", err)
	}
	if s, err := c.UseSession(ctx, "s"); err != nil || s.Idle != 2 {
		t.Errorf("use: %+v, %v", s, err)
	}
	if s, err := c.SetLife(ctx, "s", api.LifeRequest{EndsIn: 3e9}); err != nil || s.Life != 3e9 {
		t.Errorf("another life: %+v, %v", s, err)
	}
	if _, err := c.SetLife(ctx, "s", api.LifeRequest{EndsIn: 5e8}); code(err) != api.CodeBadLimits {
		t.Errorf("a life of half a second: %v", err)
	}
	if _, err := c.Session(ctx, "../s/x?y"); code(err) != api.CodeBadFile {
		t.Errorf("an id of many signs: %v", err)
	}
	if err := c.DeleteSession(ctx, "s"); code(err) != api.CodeSessionEnded {
		t.Errorf("one that has ended: %v", err)
	}

	var out, errs bytes.Buffer
	if _, err := c.ExecStream(ctx, "s", api.Exec{Argv: []string{"cat"}}, strings.NewReader("in"), &out, &errs); err != nil ||
		out.String() != "in" || errs.String() != "end" {
		t.Errorf("a streamed exec: %v, %q, %q", err, &out, &errs)
	}
	if _, err := c.ExecStream(ctx, "s", api.Exec{Argv: []string{"cat"}, Stdin: []byte("x")}, nil, nil, nil); code(err) != api.CodeBadRequest {
		t.Errorf("stdin twice: %v", err)
	}
	if _, err := c.ExecStream(ctx, "other", api.Exec{Argv: []string{"cat"}}, nil, nil, nil); code(err) != api.CodeNotFound {
		t.Errorf("an exec in another: %v", err)
	}
	if _, err := c.Exec(ctx, "s", api.Exec{}); code(err) != api.CodeBadRequest {
		t.Errorf("an exec of nothing: %v", err)
	}
	if l, err := c.ListFiles(ctx, "s", "a b/&"); err != nil || !l.More || l.Files == nil {
		t.Errorf("files: %+v, %v", l, err)
	}

	o.keeps = 2 * api.GiB
	if _, err := c.ListFiles(ctx, "s", ""); code(err) != api.CodeTooLarge {
		t.Errorf("a list that the agent's memory does not hold: %v", err)
	}
}

func TestSessionFilesAreStreamed(t *testing.T) {
	o := &one{t: t, files: map[string][]byte{}}
	socket, _ := serve(t, agent.Config{Sessions: o, MaxFile: 1 << 20})
	c := client.New(socket)
	defer c.Close()

	ctx := t.Context()

	content := bytes.Repeat([]byte("\x00\xffbytes"), 100_000)
	if err := c.PutFile(ctx, "s", "d/ü ?#%", bytes.NewReader(content), true); err != nil || !bytes.Equal(o.files["d/ü ?#%*"], content) {
		t.Errorf("put: %v, %d names", err, len(o.files))
	}

	var got bytes.Buffer
	if err := c.GetFile(ctx, "s", "d/ü ?#%*", &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("get: %d bytes, %v", got.Len(), err)
	}
	if err := c.PutFile(ctx, "s", "large", bytes.NewReader(make([]byte, 1<<20+1)), false); code(err) != api.CodeTooLarge {
		t.Errorf("one byte too many: %v", err)
	}

	broke := errors.New("disk on fire")
	if err := c.PutFile(ctx, "s", "broken", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broke)),
		false); !errors.Is(err, broke) {
		t.Errorf("a source that breaks off: %v", err)
	}
	if err := c.PutFile(ctx, "s", "../x", strings.NewReader(""), false); code(err) != api.CodeBadFile {
		t.Errorf("a name that leads out: %v", err)
	}
	if err := c.PutFile(ctx, "other", "x", bytes.NewReader(content), false); code(err) != api.CodeNotFound {
		t.Errorf("put into another: %v", err)
	}
	if len(o.files) != 1 {
		t.Errorf("kept: %d files; want the one that was put whole", len(o.files))
	}

	full := errors.New("no room")
	if err := c.GetFile(ctx, "s", "d/ü ?#%*", failing{full}); !errors.Is(err, full) {
		t.Errorf("a writer that fails: %v", err)
	}

	o.cut = errors.New("the session has ended")
	got.Reset()
	if err := c.GetFile(ctx, "s", "d/ü ?#%*", &got); code(err) != api.CodeAgentGone {
		t.Errorf("a file that breaks off: %v after %d bytes", err, got.Len())
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Without sessions, and for paths that are not in their shortest form, the Sessions interface is
// not called.
func TestSessionRoutesRefuse(t *testing.T) {
	none, _ := serve(t, agent.Config{})
	c := client.New(none)
	defer c.Close()

	if _, err := c.Sessions(t.Context()); code(err) != api.CodeNotFound {
		t.Errorf("an agent without sessions: %v", err)
	}

	socket, _ := serve(t, agent.Config{Sessions: &one{t: t, files: map[string][]byte{}}})
	for path, want := range map[string]int{
		"/v1/sessions/s/files/a/../b": 400, "/v1/sessions/s/files/a%2f..%2fb": 400, "/v1/sessions//files/b": 400, "/v1/sessions/s/files/b/": 400,
		"/v1/sessions/s/nosuch": 404, "/v1/sessions/s/files/b": 200,
	} {
		res, body := raw(t, socket, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if res.StatusCode != want {
			t.Errorf("GET %s: %d, %s; want %d", path, res.StatusCode, body, want)
		}
	}
}
