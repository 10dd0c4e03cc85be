package sessions

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// volumeSession creates a session with a volume; change may modify the request.
func volumeSession(t testing.TB, a *harness.Agent, name string, change func(v *api.VolumeRequest)) api.Session {
	t.Helper()
	return a.NewSession(t, withVolume(name, change))
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
func refusedVolumeSession(t testing.TB, a *harness.Agent, name string, change func(v *api.VolumeRequest), code api.Code) *api.Error {
	t.Helper()
	ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 64 * api.MiB, Scratch: 16 * api.MiB}}
	withVolume(name, change)(&ask)
	s, err := a.CreateSession(t.Context(), ask)
	if err == nil {
		t.Errorf("session %s was made; want %s", s.ID, code)
		return &api.Error{}
	}
	return harness.WantCode(t, err, code)
}

func endSession(t testing.TB, a *harness.Agent, id string) {
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

func noLoops(t testing.TB, a *harness.Agent) {
	t.Helper()
	if left := loops(t, a.Dir); len(left) != 0 {
		t.Errorf("loop devices left: %q", left)
	}
}

// What is in a volume is there for the next session, with the same owner whatever cell has it; what
// is elsewhere is not. When the last session has ended, no loop device is left.
func TestVolumeOutlivesItsSessions(t *testing.T) {
	a := harness.VolumeAgent(t)
	noLoops(t, a)
	s := volumeSession(t, a, "mine", smallest)
	if v := s.Volume; v == nil || v.Name != "mine" || v.Size != 16*api.MiB || v.Free < 8<<20 || v.Inodes < 1000 || v.Used > 1<<20 {
		t.Errorf("the session's volume is %+v", v)
	}
	if len(loops(t, a.Dir)) != 1 {
		t.Errorf("loop devices: %q; want one", loops(t, a.Dir))
	}

	a.WantOutput(t, s.ID, "ls -A /workspace; stat -c '%u %g %a' /workspace; echo kept >/workspace/file; mkdir "+
		"/workspace/dir; ln -s file /workspace/link; echo gone >/box/file; sync", "1000 1000 755\n")
	other := a.NewSession(t, nil) // so that the next session has other host ids
	endSession(t, a, s.ID)
	noLoops(t, a)
	a.WantOutput(t, other.ID, "ls -A /workspace", "")
	if res := a.Shell(t, other.ID, "touch /workspace/x"); res.ExitCode == 0 {
		t.Error("a session without a volume can write to /workspace")
	}

	first := a.NewSession(t, nil)
	s = volumeSession(t, a, "mine", nil)
	a.WantOutput(t, s.ID, "cat /workspace/link; stat -c '%u %g %n' /workspace/* | sort; echo more >>/workspace/file; ls /box",
		"kept\n1000 1000 /workspace/dir\n1000 1000 /workspace/file\n1000 1000 /workspace/link\n")
	all, err := a.Volumes(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "mine" || all[0].Size != 16*api.MiB || fmt.Sprint(all[0].Sessions) != "["+s.ID+"]" {
		t.Errorf("volumes: %+v, %v", all, err)
	}
	if e := harness.WantCode(t, a.DeleteVolume(t.Context(), "mine"), api.CodeConflict); !strings.Contains(e.Message, s.ID) {
		t.Errorf("removing one that a session has: %s", e.Message)
	}

	endSession(t, a, s.ID)
	if err := a.DeleteVolume(t.Context(), "mine"); err != nil {
		t.Error(err)
	}

	harness.WantCode(t, a.DeleteVolume(t.Context(), "mine"), api.CodeNotFound)
	s = volumeSession(t, a, "mine", nil)
	a.WantOutput(t, s.ID, "ls -A /workspace", "")
	if s.Volume.Size != api.VolumeSize {
		t.Errorf("a volume that nobody gave a size has %s", s.Volume.Size)
	}

	for _, id := range []string{s.ID, first.ID, other.ID} {
		endSession(t, a, id)
	}

	noLoops(t, a)
}

// One session writes, unless all that write agreed to share; any number read at the same time.
func TestVolumeHasOneWriter(t *testing.T) {
	a := harness.VolumeAgent(t)
	shared := func(v *api.VolumeRequest) { v.Shared = true }
	reading := func(v *api.VolumeRequest) { v.ReadOnly = true }
	refusedVolumeSession(t, a, "v", reading, api.CodeNotFound)
	w := volumeSession(t, a, "v", smallest)
	for _, how := range []func(*api.VolumeRequest){nil, shared} {
		if e := refusedVolumeSession(t, a, "v", how, api.CodeConflict); !strings.Contains(e.Message, w.ID) {
			t.Errorf("the refusal does not name the session: %s", e.Message)
		}
	}

	r := volumeSession(t, a, "v", reading)
	a.WantOutput(t, w.ID, "echo one >/workspace/f", "")
	a.WantOutput(t, r.ID, "cat /workspace/f; echo x 2>/dev/null >/workspace/f || echo refused; rm -f /workspace/f "+
		"2>/dev/null || echo refused",
		"one\nrefused\nrefused\n")
	harness.WantCode(t, a.Workspace(r.ID).Put(t.Context(), "f", strings.NewReader("x"), false), api.CodeBadFile)
	harness.WantCode(t, a.Workspace(r.ID).Delete(t.Context(), "f"), api.CodeBadFile)
	endSession(t, a, w.ID)
	one := volumeSession(t, a, "v", shared) // while it is read
	two := volumeSession(t, a, "v", shared)
	refusedVolumeSession(t, a, "v", nil, api.CodeConflict)
	a.WantOutput(t, one.ID, "echo two >/workspace/g", "")
	a.WantOutput(t, two.ID, "cat /workspace/f /workspace/g; rm /workspace/g", "one\ntwo\n")
	endSession(t, a, one.ID)
	a.WantOutput(t, two.ID, "ls /workspace; echo still >/workspace/f", "f\n")
	a.WantOutput(t, r.ID, "cat /workspace/f", "still\n")
	endSession(t, a, two.ID)
	endSession(t, a, r.ID)
	noLoops(t, a)
	if e := refusedVolumeSession(t, a, "v", func(v *api.VolumeRequest) { v.Size = 32 * api.MiB },
		api.CodeConflict); !strings.Contains(e.Message, "16M") {
		t.Errorf("another size: %s", e.Message)
	}

	refusedVolumeSession(t, a, "w", func(v *api.VolumeRequest) { v.Size = 64 * api.GiB }, api.CodeAboveCeiling)
	refusedVolumeSession(t, a, "w", func(v *api.VolumeRequest) { v.Size = api.MiB }, api.CodeBadLimits)
	noLoops(t, a)
}

// The files of a volume are put and fetched like those of /box.
func TestVolumeFiles(t *testing.T) {
	a := harness.VolumeAgent(t)
	s := volumeSession(t, a, "v", smallest)
	plain := a.NewSession(t, nil)
	put := func(name, content string) {
		t.Helper()
		if err := a.Workspace(s.ID).Put(t.Context(), name, strings.NewReader(content), name == "run"); err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
	}

	put("a/b/c", "one")
	put("a/b/c", "two")
	put("run", "#!/bin/sh\necho ran\n")
	a.Put(t, s.ID, "box", "of /box")
	a.WantOutput(t, s.ID, "cat /workspace/a/b/c; /workspace/run; stat -c '%u %g %a' /workspace/a /workspace/a/b/c; ls /workspace; ls /box",
		"tworan\n1000 1000 755\n1000 1000 644\na\nrun\nbox\n")
	a.WantOutput(t, s.ID, "ln -s /etc/passwd /workspace/link; ln -s / /workspace/root; ln -s .. /workspace/up; "+
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
		harness.WantCode(t, a.Workspace(s.ID).Put(t.Context(), name, strings.NewReader("x"), false), api.CodeBadFile)
	}

	put("link", "no link")
	for _, name := range []string{"a/b/c", "a/b", "link"} {
		if err := a.Workspace(s.ID).Delete(t.Context(), name); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	}

	harness.WantCode(t, a.Workspace(s.ID).Delete(t.Context(), "up/box/box"), api.CodeNotFound)
	_, err = a.Workspace(plain.ID).List(t.Context(), "")
	harness.WantCode(t, err, api.CodeBadRequest)
	a.WantOutput(t, s.ID, "cat /workspace/link 2>/dev/null; ls /box", "box\n")
	endSession(t, a, plain.ID)
	endSession(t, a, s.ID)
}

// A full volume affects only its own sessions: what does not fit is refused, existing files can be
// removed, and the next session works. The file system enforces the size, for a program and for
// files that are put.
func TestVolumeFull(t *testing.T) {
	a := harness.VolumeAgent(t)
	s := volumeSession(t, a, "v", smallest)
	res := a.Shell(t, s.ID, "echo small >/workspace/small; cat /dev/zero >/workspace/big; echo $?; ls -l "+
		"/workspace/big | awk '{print ($5 < 16*1024*1024 && $5 > 8*1024*1024)}'; echo x >/workspace/more && sync && "+
		"cat /workspace/more | wc -c")
	if !strings.Contains(string(res.Stderr), "No space left") || !strings.HasPrefix(string(res.Stdout), "1\n1\n") {
		t.Errorf("filling it: %q, %q, %s", res.Stdout, res.Stderr, res.Verdict)
	}

	harness.WantCode(t, a.Workspace(s.ID).Put(t.Context(), "put", bytes.NewReader(make([]byte, 4<<20)), false), api.CodeTooLarge)
	now, err := a.Session(t.Context(), s.ID)
	if err != nil || now.Volume.Free > 1<<20 {
		t.Errorf("a full volume has %+v, %v", now.Volume, err)
	}

	a.WantOutput(t, s.ID, "echo fine >/box/f; cat /box/f /workspace/small", "fine\nsmall\n")
	endSession(t, a, s.ID)
	s = volumeSession(t, a, "v", nil)
	if err := a.Workspace(s.ID).Delete(t.Context(), "big"); err != nil {
		t.Error(err)
	}

	a.WantOutput(t, s.ID, "rm -f /workspace/more; head -c 5000000 /dev/zero >/workspace/new; wc -c </workspace/new; rm /workspace/new",
		"5000000\n")
	res = a.MustExec(t, s.ID,
		api.Exec{Argv: []string{"/bin/sh", "-c", "i=0; while : >/workspace/d$i; do i=$((i+1)); done 2>&1; echo $i"},
			Limits: api.Limits{Wall: harness.Seconds(25)}})
	if !strings.Contains(string(res.Stdout), "No space left") {
		t.Errorf("all inodes: %q, %s", res.Stdout, res.Verdict)
	}

	harness.WantCode(t, a.Workspace(s.ID).Put(t.Context(), "put", strings.NewReader("x"), false), api.CodeTooLarge)
	a.WantOutput(t, s.ID, "rm /workspace/d1*; echo y >/workspace/d1; cat /workspace/d1 /workspace/small", "y\nsmall\n")
	begun := time.Now()
	endSession(t, a, s.ID)
	if took := time.Since(begun); took > harness.Slow(20*time.Second) {
		t.Errorf("its end took %s", took)
	}

	noLoops(t, a)
}
