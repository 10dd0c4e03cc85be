package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// A volumeAgent is an agent that creates volumes; at the end of the test no loop device may be
// left.
func volumeAgent(t testing.TB, flags ...string) *agent {
	t.Helper()
	testenv.NeedRoot(t)
	testenv.NeedTool(t, "mkfs.ext4", "e2fsprogs")
	testenv.NeedFile(t, "/dev/loop-control", "modprobe loop")
	return startAgent(t, flags...)
}

// volumeSession creates a session with a volume; change may modify the request.
func (a *agent) volumeSession(t testing.TB, name string, change func(v *api.VolumeRequest)) api.Session {
	t.Helper()
	return a.session(t, withVolume(name, change))
}

func withVolume(name string, change func(v *api.VolumeRequest)) func(s *api.SessionRequest) {
	return func(s *api.SessionRequest) {
		s.Volume = &api.VolumeRequest{Name: name}
		if change != nil {
			change(s.Volume)
		}
	}
}

func smallest(v *api.VolumeRequest) { v.Size = api.VolumeSizeMin }

// refusedVolumeSession demands that such a session is refused.
func (a *agent) refusedVolumeSession(t testing.TB, name string, change func(v *api.VolumeRequest), code api.Code) *api.Error {
	t.Helper()
	ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB, Scratch: 16 * api.MiB}}
	withVolume(name, change)(&ask)
	s, err := a.CreateSession(t.Context(), ask)
	if err == nil {
		t.Errorf("session %s was made; want %s", s.ID, code)
		return &api.Error{}
	}
	return wantCode(t, err, code)
}

func (a *agent) endSession(t testing.TB, id string) {
	t.Helper()
	if err := a.DeleteSession(t.Context(), id); err != nil {
		t.Errorf("end session %s: %v", id, err)
	}
}

// loops lists the loop devices on files below a directory.
func loops(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range paths {
		if file, err := os.ReadFile(p); err == nil && strings.Contains(string(file), filepath.Base(dir)) {
			out = append(out, p+" "+strings.TrimSpace(string(file)))
		}
	}
	return out
}

func (a *agent) noLoops(t testing.TB) {
	t.Helper()
	if left := loops(t, a.dir); len(left) != 0 {
		t.Errorf("loop devices left: %q", left)
	}
}

// What is in a volume is there for the next session, with the same owner whatever cell has it; what
// is elsewhere is not. When the last session has ended, no loop device is left.
func TestVolumeOutlivesItsSessions(t *testing.T) {
	a := volumeAgent(t)
	a.noLoops(t)
	s := a.volumeSession(t, "mine", smallest)
	if v := s.Volume; v == nil || v.Name != "mine" || v.Size != 16*api.MiB || v.Free < 8<<20 || v.Inodes < 1000 || v.Used > 1<<20 {
		t.Errorf("the session's volume is %+v", v)
	}
	if len(loops(t, a.dir)) != 1 {
		t.Errorf("loop devices: %q; want one", loops(t, a.dir))
	}

	a.wantOutput(t, s.ID, "ls -A /workspace; stat -c '%u %g %a' /workspace; echo kept >/workspace/file; mkdir "+
		"/workspace/dir; ln -s file /workspace/link; echo gone >/box/file; sync", "1000 1000 755\n")
	other := a.session(t, nil) // so that the next session has other host ids
	a.endSession(t, s.ID)
	a.noLoops(t)
	a.wantOutput(t, other.ID, "ls -A /workspace", "")
	if res := a.exec(t, other.ID, "touch /workspace/x"); res.ExitCode == 0 {
		t.Error("a session without a volume can write to /workspace")
	}

	first := a.session(t, nil)
	s = a.volumeSession(t, "mine", nil)
	a.wantOutput(t, s.ID, "cat /workspace/link; stat -c '%u %g %n' /workspace/* | sort; echo more >>/workspace/file; ls /box",
		"kept\n1000 1000 /workspace/dir\n1000 1000 /workspace/file\n1000 1000 /workspace/link\n")
	all, err := a.Volumes(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "mine" || all[0].Size != 16*api.MiB || fmt.Sprint(all[0].Sessions) != "["+s.ID+"]" {
		t.Errorf("volumes: %+v, %v", all, err)
	}
	if e := wantCode(t, a.DeleteVolume(t.Context(), "mine"), api.CodeConflict); !strings.Contains(e.Message, s.ID) {
		t.Errorf("removing one that a session has: %s", e.Message)
	}

	a.endSession(t, s.ID)
	if err := a.DeleteVolume(t.Context(), "mine"); err != nil {
		t.Error(err)
	}

	wantCode(t, a.DeleteVolume(t.Context(), "mine"), api.CodeNotFound)
	s = a.volumeSession(t, "mine", nil)
	a.wantOutput(t, s.ID, "ls -A /workspace", "")
	if s.Volume.Size != api.VolumeSize {
		t.Errorf("a volume that nobody gave a size has %s", s.Volume.Size)
	}

	for _, id := range []string{s.ID, first.ID, other.ID} {
		a.endSession(t, id)
	}

	a.noLoops(t)
}

// One session writes, unless all that write agreed to share; any number read at the same time.
func TestVolumeHasOneWriter(t *testing.T) {
	a := volumeAgent(t)
	shared := func(v *api.VolumeRequest) { v.Shared = true }
	reading := func(v *api.VolumeRequest) { v.ReadOnly = true }
	a.refusedVolumeSession(t, "v", reading, api.CodeNotFound)
	w := a.volumeSession(t, "v", smallest)
	for _, how := range []func(*api.VolumeRequest){nil, shared} {
		if e := a.refusedVolumeSession(t, "v", how, api.CodeConflict); !strings.Contains(e.Message, w.ID) {
			t.Errorf("the refusal does not name the session: %s", e.Message)
		}
	}

	r := a.volumeSession(t, "v", reading)
	a.wantOutput(t, w.ID, "echo one >/workspace/f", "")
	a.wantOutput(t, r.ID, "cat /workspace/f; echo x 2>/dev/null >/workspace/f || echo refused; rm -f /workspace/f "+
		"2>/dev/null || echo refused",
		"one\nrefused\nrefused\n")
	wantCode(t, a.Workspace(r.ID).Put(t.Context(), "f", strings.NewReader("x"), false), api.CodeBadFile)
	wantCode(t, a.Workspace(r.ID).Delete(t.Context(), "f"), api.CodeBadFile)
	a.endSession(t, w.ID)
	one := a.volumeSession(t, "v", shared) // while it is read
	two := a.volumeSession(t, "v", shared)
	a.refusedVolumeSession(t, "v", nil, api.CodeConflict)
	a.wantOutput(t, one.ID, "echo two >/workspace/g", "")
	a.wantOutput(t, two.ID, "cat /workspace/f /workspace/g; rm /workspace/g", "one\ntwo\n")
	a.endSession(t, one.ID)
	a.wantOutput(t, two.ID, "ls /workspace; echo still >/workspace/f", "f\n")
	a.wantOutput(t, r.ID, "cat /workspace/f", "still\n")
	a.endSession(t, two.ID)
	a.endSession(t, r.ID)
	a.noLoops(t)
	if e := a.refusedVolumeSession(t, "v", func(v *api.VolumeRequest) { v.Size = 32 * api.MiB },
		api.CodeConflict); !strings.Contains(e.Message, "16M") {
		t.Errorf("another size: %s", e.Message)
	}

	a.refusedVolumeSession(t, "w", func(v *api.VolumeRequest) { v.Size = 64 * api.GiB }, api.CodeAboveCeiling)
	a.refusedVolumeSession(t, "w", func(v *api.VolumeRequest) { v.Size = api.MiB }, api.CodeBadLimits)
	a.noLoops(t)
}

// The files of a volume are put and fetched like those of /box.
func TestVolumeFiles(t *testing.T) {
	a := volumeAgent(t)
	s := a.volumeSession(t, "v", smallest)
	plain := a.session(t, nil)
	put := func(name, content string) {
		t.Helper()
		if err := a.Workspace(s.ID).Put(t.Context(), name, strings.NewReader(content), name == "run"); err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
	}

	put("a/b/c", "one")
	put("a/b/c", "two")
	put("run", "#!/bin/sh\necho ran\n")
	a.put(t, s.ID, "box", "of /box")
	a.wantOutput(t, s.ID, "cat /workspace/a/b/c; /workspace/run; stat -c '%u %g %a' /workspace/a /workspace/a/b/c; ls /workspace; ls /box",
		"tworan\n1000 1000 755\n1000 1000 644\na\nrun\nbox\n")
	a.wantOutput(t, s.ID, "ln -s /etc/passwd /workspace/link; ln -s / /workspace/root; ln -s .. /workspace/up; "+
		"truncate -s 8G /workspace/sparse 2>/dev/null || truncate -s 16M /workspace/sparse", "")
	list, err := a.Workspace(s.ID).List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, f := range list.Files {
		names = append(names, string(f.Kind)+" "+f.Name)
	}

	if got, want := strings.Join(names, "\n"),
		"directory a\ndirectory a/b\nfile a/b/c\nsymlink link\nsymlink root\nfile run\nfile sparse\nsymlink up"; got != want {
		t.Errorf("files:\n%s\nwant\n%s", got, want)
	}

	for _, name := range []string{"link", "root/etc/passwd", "up/etc/passwd", "a"} {
		var got bytes.Buffer
		if err := a.Workspace(s.ID).Get(t.Context(), name, &got); err == nil {
			t.Errorf("get %s: %.40q; want a refusal", name, &got)
		}
	}

	for _, name := range []string{"root/box/x", "up/tmp/x"} {
		wantCode(t, a.Workspace(s.ID).Put(t.Context(), name, strings.NewReader("x"), false), api.CodeBadFile)
	}

	put("link", "no link")
	for _, name := range []string{"a/b/c", "a/b", "link"} {
		if err := a.Workspace(s.ID).Delete(t.Context(), name); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	}

	wantCode(t, a.Workspace(s.ID).Delete(t.Context(), "up/box/box"), api.CodeNotFound)
	_, err = a.Workspace(plain.ID).List(t.Context(), "")
	wantCode(t, err, api.CodeBadRequest)
	a.wantOutput(t, s.ID, "cat /workspace/link 2>/dev/null; ls /box", "box\n")
	a.endSession(t, plain.ID)
	a.endSession(t, s.ID)
}

// A full volume affects only its own sessions: what does not fit is refused, existing files can be
// removed, and the next session works. The file system enforces the size, for a program and for
// files that are put.
func TestVolumeFull(t *testing.T) {
	a := volumeAgent(t)
	s := a.volumeSession(t, "v", smallest)
	res := a.exec(t, s.ID, "echo small >/workspace/small; cat /dev/zero >/workspace/big; echo $?; ls -l "+
		"/workspace/big | awk '{print ($5 < 16*1024*1024 && $5 > 8*1024*1024)}'; echo x >/workspace/more && sync && "+
		"cat /workspace/more | wc -c")
	if !strings.Contains(string(res.Stderr), "No space left") || !strings.HasPrefix(string(res.Stdout), "1\n1\n") {
		t.Errorf("filling it: %q, %q, %s", res.Stdout, res.Stderr, res.Verdict)
	}

	wantCode(t, a.Workspace(s.ID).Put(t.Context(), "put", bytes.NewReader(make([]byte, 4<<20)), false), api.CodeTooLarge)
	now, err := a.Session(t.Context(), s.ID)
	if err != nil || now.Volume.Free > 1<<20 {
		t.Errorf("a full volume has %+v, %v", now.Volume, err)
	}

	a.wantOutput(t, s.ID, "echo fine >/box/f; cat /box/f /workspace/small", "fine\nsmall\n")
	a.endSession(t, s.ID)
	s = a.volumeSession(t, "v", nil)
	if err := a.Workspace(s.ID).Delete(t.Context(), "big"); err != nil {
		t.Error(err)
	}

	a.wantOutput(t, s.ID, "rm -f /workspace/more; head -c 5000000 /dev/zero >/workspace/new; wc -c </workspace/new; rm /workspace/new",
		"5000000\n")
	res = a.execute(t, s.ID,
		api.Exec{Argv: []string{"/bin/sh", "-c", "i=0; while : >/workspace/d$i; do i=$((i+1)); done 2>&1; echo $i"},
			Limits: api.Limits{Wall: seconds(25)}})
	if !strings.Contains(string(res.Stdout), "No space left") {
		t.Errorf("all inodes: %q, %s", res.Stdout, res.Verdict)
	}

	wantCode(t, a.Workspace(s.ID).Put(t.Context(), "put", strings.NewReader("x"), false), api.CodeTooLarge)
	a.wantOutput(t, s.ID, "rm /workspace/d1*; echo y >/workspace/d1; cat /workspace/d1 /workspace/small", "y\nsmall\n")
	begun := time.Now()
	a.endSession(t, s.ID)
	if took := time.Since(begun); took > slow(20*time.Second) {
		t.Errorf("its end took %s", took)
	}

	a.noLoops(t)
}
