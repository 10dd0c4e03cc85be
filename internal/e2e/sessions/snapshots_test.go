package sessions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// fork creates a session that begins with a snapshot.
func fork(t testing.TB, a *harness.Agent, ref string) api.Session {
	t.Helper()
	return a.NewSession(t, func(s *api.SessionRequest) { s.Image, s.Snapshot = "", ref })
}

// changes returns how a session differs from a snapshot.
func changes(t testing.TB, a *harness.Agent, id, since string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := a.Diff(t.Context(), id, since, nil, &out); err != nil {
		t.Fatalf("diff: %v\n%s", err, a.Log)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var c api.PathChange
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %o %d", c.Change, c.Path, c.Kind, c.Mode, c.Size))
	}
	return got
}

// From one snapshot any number of sessions begin, and each sees its own writes alone.
func TestFork(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	a.WantOutput(t, s.ID, "mkdir -p d; echo one > d/x; chmod 640 d/x; ln -s d/x l; ln d/x hard; echo two > /tmp/t; echo '#!/bin/sh\necho ran' > run; "+
		"chmod 755 run; touch -d '2001-02-03 04:05:06' d/x", "")
	made, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Name: "ready"})
	if err != nil {
		t.Fatalf("%v\n%s", err, a.Log)
	}
	if made.Files != 8 || made.Base != s.Image || len(made.LeftOut) > 0 || made.Name != "ready" || !strings.HasPrefix(made.ID, "sha256:") {
		t.Errorf("the snapshot is %+v", made)
	}

	one, two := fork(t, a, "ready"), fork(t, a, made.ID)
	if one.Snapshot != made.ID || one.Image != s.Image {
		t.Errorf("the session is %+v", one)
	}
	const look = "cat d/x l hard /tmp/t; ./run; stat -c '%a %u %h %Y' d/x; stat -c '%i' d/x hard | uniq | wc -l"
	const want = "one\none\none\ntwo\nran\n640 1000 2 981173106\n1\n"
	for _, id := range []string{one.ID, two.ID} {
		a.WantOutput(t, id, look, want)
	}
	if got := changes(t, a, one.ID, ""); len(got) != 0 {
		t.Errorf("a session that has just begun differs by %q", got)
	}

	a.WantOutput(t, one.ID, "echo ONE > d/x; rm /tmp/t; echo new > n; mkdir e", "")
	a.WantOutput(t, two.ID, look, want)
	a.WantOutput(t, s.ID, look, want)
	wanted := []string{"modified /box/d/x file 640 4", "added /box/e directory 755 0", "added /box/n file 644 4", "removed /tmp/t file 644 4"}
	if got := changes(t, a, one.ID, "ready"); !slices.Equal(got, wanted) {
		t.Errorf("the changes are %q; want %q", got, wanted)
	}

	// A fork of a fork; and what is removed is gone for new sessions alone.
	next, err := a.MakeSnapshot(t.Context(), one.ID, api.SnapshotRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.DeleteSnapshot(t.Context(), "ready", ""); err != nil {
		t.Error(err)
	}
	_, err = a.CreateSession(t.Context(), api.SessionRequest{Snapshot: "ready"})
	harness.WantCode(t, err, api.CodeNotFound)
	a.WantOutput(t, two.ID, look, want)
	a.WantOutput(t, fork(t, a, next.ID).ID, "cat d/x n; ls /tmp", "ONE\nnew\n")
	if all, err := a.Snapshots(t.Context(), ""); err != nil || len(all) != 1 || all[0].ID != next.ID {
		t.Errorf("the snapshots are %+v, %v", all, err)
	}
}

// A verifier takes what another session has made: files and directories, and nothing that leads elsewhere.
func TestTake(t *testing.T) {
	a := harness.StartAgent(t)
	from, to := a.NewSession(t, nil), a.NewSession(t, nil)
	a.WantOutput(t, from.ID, "mkdir -p out/sub; echo 1 > out/a; echo 2 > out/sub/b; echo 3 > /tmp/r; chmod 755 out/a; ln out/a out/same; "+
		"ln -s /etc/passwd link; ln -s out linked; mkdir bad; ln -s x bad/l; mkfifo fifo 2>/dev/null; :", "")
	a.WantOutput(t, to.ID, "mkdir out; echo old > out/a; echo mine > out/mine; ln -s /tmp/elsewhere out/sub", "")

	take := func(paths ...string) (api.TakenFiles, error) {
		return a.Take(t.Context(), to.ID, api.TakeRequest{From: from.ID, Paths: paths})
	}
	_, err := take("/box/out") // out/sub is a link there, which is not followed
	harness.WantCode(t, err, api.CodeFileConflict)
	a.WantOutput(t, to.ID, "ls /tmp/elsewhere 2>/dev/null; rm out/sub", "")
	taken, err := take("/box/out", "/tmp/r")
	if err != nil || taken.Files != 6 || taken.Bytes != 8 {
		t.Fatalf("take: %+v, %v\n%s", taken, err, a.Log)
	}
	a.WantOutput(t, to.ID, "cat out/a out/sub/b out/same out/mine /tmp/r; stat -c '%a %u %h' out/a", "1\n2\n1\nmine\n3\n755 1000 1\n")

	// SNP-03: links, and paths that could mean something else. Nothing of them arrives.
	for _, c := range []struct {
		path string
		code api.Code
	}{
		{"/box/link", api.CodeFileConflict}, {"/box/linked/a", api.CodeNotFound}, {"/box/bad", api.CodeFileConflict},
		{"/box/../etc/passwd", api.CodeBadFile}, {"/etc/shadow", api.CodeBadFile}, {"/box/out/../../etc/shadow", api.CodeBadFile},
		{"/proc/self/environ", api.CodeBadFile}, {"/boxes", api.CodeBadFile}, {"box/out", api.CodeBadFile}, {"/", api.CodeBadFile},
		{"/box/none", api.CodeNotFound},
	} {
		_, err := take(c.path)
		harness.WantCode(t, err, c.code)
	}
	a.WantOutput(t, to.ID, "ls", "out\n")
	_, err = a.Take(t.Context(), to.ID, api.TakeRequest{From: "nothing", Paths: []string{"/box"}})
	harness.WantCode(t, err, api.CodeNotFound)
	_, err = a.Take(t.Context(), to.ID, api.TakeRequest{From: to.ID, Paths: []string{"/box"}})
	harness.WantCode(t, err, api.CodeBadRequest)
}

// SNP-02, SNP-04, SNP-05, SNP-06: a program that makes files as hostile as it can. A snapshot has what it may have, says what
// it leaves out, takes little, and nothing of the host.
func TestHostileSnapshots(t *testing.T) {
	a := harness.StartAgent(t)
	dir := harness.PublicDir(t, "canary-")
	file := harness.NewBystander(t, dir, "file")
	s := a.NewSession(t, func(s *api.SessionRequest) {
		s.Limits.Scratch, s.Limits.Inodes, s.Limits.Memory = 64*api.MiB, 150_000, 256*api.MiB
	})
	mess := harness.CompileC(t, "mess", fmt.Sprintf(`#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <fcntl.h>
#include <string.h>
int main(void) {
	mkfifo("fifo", 0666);
	struct sockaddr_un a = {AF_UNIX, "socket"}; bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a);
	mknod("device", S_IFCHR | 0666, 0x105);
	int f = open("hole", O_CREAT | O_RDWR, 0644); ftruncate(f, 60 << 20); pwrite(f, "x", 1, 50 << 20);
	setxattr("hole", "user.x", "y", 1, 0);
	close(open("suid", O_CREAT | O_WRONLY, 0755)); chmod("suid", 06755);
	close(open("shut", O_CREAT | O_WRONLY, 0)); mkdir("closed", 0); mkdir("sticky", 01777); chmod("sticky", 01777);
	symlink("%[1]s", "host"); symlink("%[2]s", "hostdir"); symlink("/proc/1/root", "root"); symlink("/", "slash");
	char name[256]; memset(name, 'n', 255); name[255] = 0; mkdir(name, 0755); chdir(name); mkdir(name, 0755);
	return 0; }`, file.Path, dir))
	if err := a.Paths(s.ID).Put(t.Context(), "/tmp/mess", "0755", bytes.NewReader(mess.Content)); err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, s.ID, "/tmp/mess; rm /tmp/mess", "")
	made, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{})
	if err != nil {
		t.Fatalf("%v\n%s", err, a.Log)
	}
	if made.Stored > 64<<10 || made.Bytes > 8<<10 {
		t.Errorf("SNP-05: a hole of 60 MiB makes the snapshot %d bytes", made.Stored)
	}
	left := fmt.Sprint(made.LeftOut)
	for _, name := range []string{"shut", "closed", "suid", "sticky"} {
		if !strings.Contains(left, "/box/"+name) {
			t.Errorf("SNP-04: %s is not among what was left out: %s", name, left)
		}
	}

	copied := a.NewSession(t, func(n *api.SessionRequest) { n.Image, n.Snapshot = "", made.ID })
	a.WantOutput(t, copied.ID, "stat -c '%n %a %s' hole suid sticky; test -p fifo -o -S socket -o -c device -o -e shut && echo there; readlink host; "+
		"cat host hostdir/file root/etc/shadow 2>/dev/null; :", "hole 644 62914560\nsuid 755 0\nsticky 777 40\n"+file.Path+"\n")
	if file.Touched(t) {
		t.Error("SNP-02: the host's file has changed")
	}
	for _, one := range storedFiles(t, a) {
		if text, err := os.ReadFile(one); err != nil || bytes.Contains(text, []byte(corpus.Secret)) {
			t.Errorf("SNP-02: a snapshot has what is the host's: %v", err)
		}
	}

	// SNP-06: directories in one another, and more files than a snapshot may have.
	a.Shell(t, s.ID, "d=/tmp/deep; mkdir $d; cd $d; i=0; while [ $i -lt 70 ]; do mkdir d; cd d; i=$((i+1)); done; :")
	_, err = a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{})
	harness.WantCode(t, err, api.CodeTooLarge)
	many := harness.CompileC(t, "many", `#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
int main(void) { char name[32];
	for (int i = 0; i < 100001; i++) { sprintf(name, "m%d", i); close(open(name, O_CREAT | O_WRONLY, 0644)); } return 0; }`)
	if err := a.Paths(s.ID).Put(t.Context(), "/tmp/many", "0755", bytes.NewReader(many.Content)); err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, s.ID, "rm -r /tmp/deep; mkdir /tmp/m; cd /tmp/m && /tmp/many", "")
	_, err = a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{})
	harness.WantCode(t, err, api.CodeTooLarge)
	if made, err = a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Paths: []string{"/box/suid"}}); err != nil || made.Files != 2 {
		t.Errorf("the positive control: %+v, %v", made, err)
	}
	if found := storedFiles(t, a); len(found) != 2 {
		t.Errorf("refused snapshots leave files: %q", found)
	}
}

// storedFiles are the files of snapshots of an agent.
func storedFiles(t testing.TB, a *harness.Agent) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(a.Dir, "snapshots", "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What 10,000 files cost: the numbers of docs/sessions.md. It has no bound, because the machine's load is no verdict.
func TestSnapshotCost(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, func(s *api.SessionRequest) {
		s.Limits.Scratch, s.Limits.Inodes, s.Limits.Memory = 64*api.MiB, 20_000, 256*api.MiB
	})
	a.WantOutput(t, s.ID, "for d in 0 1 2 3 4 5 6 7 8 9; do mkdir d$d; i=0; while [ $i -lt 1000 ]; do echo $d $i >d$d/f$i; i=$((i+1)); done; done", "")
	began := time.Now()
	made, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{})
	if err != nil || made.Files != 10_012 || !made.Frozen {
		t.Fatalf("%+v, %v\n%s", made, err, a.Log)
	}
	t.Logf("snapshot of 10,000 files: %v, %d bytes", time.Since(began), made.Stored)

	for range 3 {
		began = time.Now()
		empty := a.NewSession(t, nil)
		bare := time.Since(began)
		began = time.Now()
		copied := a.NewSession(t, func(s *api.SessionRequest) {
			s.Image, s.Snapshot, s.Limits = "", made.ID, api.Limits{Scratch: 64 * api.MiB, Inodes: 20_000, Memory: 256 * api.MiB}
		})
		t.Logf("new session %v, with the files %v", bare, time.Since(began))
		a.WantOutput(t, copied.ID, "ls d7 | wc -l; cat d7/f999", "1000\n7 999\n")
		for _, id := range []string{empty.ID, copied.ID} {
			if err := a.DeleteSession(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
}
