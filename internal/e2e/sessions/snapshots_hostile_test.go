package sessions

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// SNP-08: a program that writes as fast as it can does not make a snapshot of several instants: it stands still meanwhile, and
// goes on afterwards.
func TestSnapshotIsOfOneInstant(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := a.NewSession(t, nil)
	count := harness.CompileC(t, "count", `#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
	int first = open("/box/a", O_CREAT | O_RDWR, 0644), second = open("/tmp/z", O_CREAT | O_RDWR, 0644);
	for (unsigned long i = 1;; i++) {
		char text[32]; int n = sprintf(text, "%020lu", i);
		pwrite(first, text, n, 0); pwrite(second, text, n, 0);
	}
}`)
	if err := a.Paths(s.ID).Put(t.Context(), "/box/count", "0755", bytes.NewReader(count.Content)); err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, s.ID, "/box/count >/dev/null 2>&1 & until test -s /tmp/z; do :; done", "")

	last := 0
	for range 5 {
		made, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Paths: []string{"/box/a", "/tmp/z"}})
		if err != nil || !made.Frozen {
			t.Fatalf("%+v, %v\n%s", made, err, a.Log)
		}
		copied := fork(t, a, made.ID)
		res := a.Shell(t, copied.ID, "cat /box/a; echo; cat /tmp/z")
		first, second, _ := strings.Cut(string(res.Stdout), "\n")
		one, err := strconv.Atoi(first)
		other, oerr := strconv.Atoi(second)
		if err != nil || oerr != nil || one-other < 0 || one-other > 1 {
			t.Errorf("the files have %q and %q: the program wrote while they were copied", first, second)
		}
		if one <= last {
			t.Errorf("after a snapshot that had %d the program has not gone on: %d", last, one)
		}
		last = one
		if err := a.DeleteSession(t.Context(), copied.ID); err != nil {
			t.Error(err)
		}
	}
}

// An agent that is killed while it makes a snapshot leaves none, and its successor removes the rest. What was there before is
// still there.
func TestKilledWhileMakingASnapshot(t *testing.T) {
	testenv.NeedRoot(t)
	dir, data := harness.PublicDir(t, "brig-e2e-"), harness.DataDir(t)
	testenv.CleanHost(t)
	a := harness.Launch(t, dir, data)
	large := func(s *api.SessionRequest) { s.Limits.Scratch, s.Limits.Memory = 256*api.MiB, 512*api.MiB }
	s := a.NewSession(t, large)
	a.WantOutput(t, s.ID, "echo kept >x", "")
	kept, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Name: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, s.ID, "head -c 200000000 /dev/urandom >large", "")

	half := filepath.Join(dir, "snapshots", "*", "*", ".new-*")
	unfinished := func() []string {
		found, err := filepath.Glob(half)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	failed := make(chan error, 1)
	go func() {
		_, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Name: "lost"})
		failed <- err
	}()
	for written := int64(0); written < 1<<20; time.Sleep(time.Millisecond) {
		select {
		case err := <-failed:
			t.Fatalf("the snapshot ended before the agent could be killed: %v", err)
		default:
		}
		for _, name := range unfinished() {
			if st, err := os.Stat(name); err == nil {
				written = st.Size()
			}
		}
	}
	a.Kill()
	if err := <-failed; err == nil {
		t.Error("a snapshot of a killed agent succeeded")
	}
	if len(unfinished()) != 1 {
		t.Errorf("the killed agent left %q; want one unfinished file: the test shows nothing", unfinished())
	}

	a = harness.Launch(t, dir, data)
	t.Cleanup(a.Stop)
	if all, err := a.Snapshots(t.Context(), ""); err != nil || len(all) != 1 || all[0].ID != kept.ID {
		t.Errorf("the snapshots are %+v, %v", all, err)
	}
	next := fork(t, a, "kept")
	a.WantOutput(t, next.ID, "cat x; echo more >y", "kept\n")
	if _, err := a.MakeSnapshot(t.Context(), next.ID, api.SnapshotRequest{}); err != nil {
		t.Error(err)
	}
	if left := unfinished(); len(left) > 0 {
		t.Errorf("the next snapshot left %q there", left)
	}
}

// A full disk is an error that says what to do, and leaves nothing.
func TestSnapshotsOnAFullDisk(t *testing.T) {
	testenv.NeedRoot(t)
	disk := harness.PublicDir(t, "brig-full-")
	if err := unix.Mount("none", disk, "tmpfs", 0, "mode=0700,size=256k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	a := harness.StartAgent(t, "--snapshots", disk)
	s := a.NewSession(t, nil)
	a.WantOutput(t, s.ID, "head -c 1000000 /dev/urandom >large; echo small >small", "")
	_, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{})
	if e := harness.WantCode(t, err, api.CodeHostExhausted); !strings.Contains(e.Message, "--snapshots") {
		t.Errorf("the error does not say what to do: %s", e.Message)
	}
	if left, err := filepath.Glob(filepath.Join(disk, "*", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("on the disk: %q, %v", left, err)
	}
	if _, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Paths: []string{"/box/small"}}); err != nil {
		t.Errorf("the positive control: %v", err)
	}
	a.WantOutput(t, s.ID, "cat small", "small\n")

	// What does not fit into a new session is said before anything runs there.
	big := a.NewSession(t, func(s *api.SessionRequest) { s.Limits.Scratch = 8 * api.MiB })
	a.WantOutput(t, big.ID, "i=0; while [ $i -lt 200 ]; do echo $i >f$i; i=$((i+1)); done", "")
	made, err := a.MakeSnapshot(t.Context(), big.ID, api.SnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	tight := api.Limits{Memory: 64 * api.MiB, Scratch: api.MiB, Inodes: 100}
	_, err = a.CreateSession(t.Context(), api.SessionRequest{Snapshot: made.ID, Limits: tight})
	harness.WantCode(t, err, api.CodeNoSpace)
}

// SNP-01: over HTTP each key has its own snapshots, and sees no other one's, whatever it calls them.
func TestGatewaySnapshots(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	create := func(by *harness.Service, ask api.SessionRequest, status int) (made api.Session) {
		t.Helper()
		ask.Limits = api.Limits{Memory: 64 * api.MiB, Scratch: 16 * api.MiB}
		if status != 201 {
			by.Call("POST", "/v1/sessions", ask, status, nil)
			return made
		}
		by.Call("POST", "/v1/sessions", ask, status, &made)
		return made
	}

	of := create(ann, api.SessionRequest{Image: "tiny"}, 201)
	at := "/v1/sessions/" + of.ID
	ann.ExecIn(of.ID, "echo secret >x")
	var made api.SnapshotMade
	ann.Call("POST", at+"/snapshots", api.SnapshotRequest{Name: "ready"}, 201, &made)
	if made.Name != "ready" || made.Files != 3 || !made.Frozen {
		t.Errorf("made %+v", made)
	}

	// What another key may not do; and that ann may is the positive control.
	for _, ref := range []string{"ready", made.ID} {
		bob.Call("GET", "/v1/snapshots/"+ref, nil, 404, nil)
		bob.Call("DELETE", "/v1/snapshots/"+ref, nil, 404, nil)
		create(bob, api.SessionRequest{Snapshot: ref}, 404)
		ann.Call("GET", "/v1/snapshots/"+ref, nil, 200, &made.Snapshot)
	}
	for _, ref := range []string{"key:ann/ready", "../ann/ready", "key:ann/" + made.ID} {
		create(bob, api.SessionRequest{Snapshot: ref}, 400)
	}
	bob.Call("POST", at+"/snapshots", api.SnapshotRequest{}, 404, nil)
	bob.Call("GET", at+"/diff", nil, 404, nil)
	own := create(bob, api.SessionRequest{Image: "tiny"}, 201)
	bob.Call("POST", "/v1/sessions/"+own.ID+"/take", api.TakeRequest{From: of.ID, Paths: []string{"/box/x"}}, 404, nil)
	bob.Call("GET", "/v1/sessions/"+own.ID+"/diff?since="+made.ID, nil, 404, nil)
	bob.Call("POST", "/v1/sessions/"+own.ID+"/snapshots", api.SnapshotRequest{Space: "key:ann"}, 400, nil)
	var page api.Page[api.Snapshot]
	bob.Call("GET", "/v1/snapshots", nil, 200, &page)
	if len(page.Items) != 0 {
		t.Errorf("bob sees %+v", page.Items)
	}

	next := create(ann, api.SessionRequest{Snapshot: "ready"}, 201)
	if res := ann.ExecIn(next.ID, "cat x; echo new >y"); string(res.Stdout) != "secret\n" || next.Snapshot != made.ID {
		t.Errorf("the fork %+v has %q", next, res.Stdout)
	}
	var taken api.TakenFiles
	ann.Call("POST", at+"/take", api.TakeRequest{From: next.ID, Paths: []string{"/box/y"}}, 200, &taken)
	if res := ann.ExecIn(of.ID, "cat y"); string(res.Stdout) != "new\n" || taken.Files != 1 {
		t.Errorf("taken %+v: %q", taken, res.Stdout)
	}
	ann.Call("GET", "/v1/snapshots", nil, 200, &page)
	if len(page.Items) != 1 || page.Items[0].ID != made.ID {
		t.Errorf("ann has %+v", page.Items)
	}
	ann.Call("DELETE", "/v1/snapshots/ready", nil, 204, nil)
	ann.Call("GET", "/v1/snapshots/"+made.ID, nil, 404, nil)
	if all, err := a.Snapshots(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("outside of all spaces: %+v, %v", all, err)
	}
}

// SNP-08: a process that waits for the disk, and that no signal interrupts, keeps no snapshot from being made: its session is told
// that it did not stand still.
func TestSnapshotWithAProcessThatDoesNotStop(t *testing.T) {
	a := harness.VolumeAgent(t)
	s := a.NewSession(t, func(s *api.SessionRequest) { s.Volume = &api.VolumeRequest{Name: "stuck", Size: api.VolumeSizeMin} })
	a.WantOutput(t, s.ID, "echo x >/box/x; echo y >/workspace/y", "")
	volume := volumeMountOf(t, a)
	defer volume.Close()

	const freeze, thaw = 0xc0045877, 0xc0045878 // FIFREEZE and FITHAW of linux/fs.h: who writes there waits until the second
	if err := unix.IoctlSetInt(int(volume.Fd()), freeze, 0); err != nil {
		t.Fatal(err)
	}
	thawed := false
	defer func() {
		if !thawed {
			_ = unix.IoctlSetInt(int(volume.Fd()), thaw, 0)
		}
	}()
	a.WantOutput(t, s.ID, "sh -c 'echo $$ >/tmp/pid; echo z >/workspace/z' >/dev/null 2>&1 & until test -s /tmp/pid; do :; done", "")
	harness.Eventually(t, "the program waits for the disk", func() bool {
		res := a.Shell(t, s.ID, "cat /proc/$(cat /tmp/pid)/stat")
		return strings.Contains(string(res.Stdout), ") D ")
	})

	made, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Paths: []string{"/box"}})
	if err != nil || made.Frozen || made.Files != 2 {
		t.Errorf("%+v, %v; want a snapshot that is not frozen", made, err)
	}
	a.WantOutput(t, s.ID, "cat /box/x", "x\n") // the others go on
	if err := unix.IoctlSetInt(int(volume.Fd()), thaw, 0); err != nil {
		t.Fatal(err)
	}
	thawed = true
	made, err = a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Paths: []string{"/box"}})
	if err != nil || !made.Frozen {
		t.Errorf("after that: %+v, %v", made, err)
	}
}

// volumeMountOf opens the root of the one volume that an agent has mounted.
func volumeMountOf(t testing.TB, a *harness.Agent) *os.File {
	t.Helper()
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", a.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		var fs unix.Statfs_t
		var st unix.Stat_t
		if unix.Stat(name, &st) != nil || unix.Statfs(name, &fs) != nil {
			continue
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR && fs.Type == unix.EXT4_SUPER_MAGIC && unix.Major(st.Dev) == 7 { // a loop device
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
	}
	t.Fatal("the agent has no volume open")
	return nil
}
