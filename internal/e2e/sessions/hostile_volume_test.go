package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// A volume gives no privilege, whatever is in it: not even what only the operator could have put
// there, such as a setuid program of root or a device.
func TestVolumeHostileContents(t *testing.T) {
	a := harness.VolumeAgent(t)
	testenv.NeedTool(t, "debugfs", "e2fsprogs")
	s := volumeSession(t, a, "v", smallest)
	probe := harness.CompileC(t, "probe", `#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#define TRY(what, call) do { errno = 0; long r = (call); printf("%s %s\n", what, r < 0 ? "refused" : "done"); } while (0)
int main(int argc, char **argv) {
	printf("uid %d\n", geteuid());
	if (argc == 1) return 0;
	close(open("f", O_CREAT | O_WRONLY, 0644));
	TRY("own", chmod("f", 04755));
	TRY("chown", chown("f", 0, 0));
	TRY("mknod", mknod("dev", S_IFBLK | 0666, 0x800));
	TRY("trusted", setxattr("f", "trusted.x", "x", 1, 0));
	TRY("capability", setxattr("f", "security.capability", "\1\0\0\2\377\377\377\377\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0));
	TRY("remount", mount(0, "/workspace", 0, MS_REMOUNT | MS_BIND, 0));
	TRY("unmount", umount2("/workspace", MNT_DETACH));
	TRY("device", open("/workspace/sda", O_RDONLY));
	TRY("loop", open("/dev/loop0", O_RDONLY));
	return 0;
}`)
	if err := a.PutFile(t.Context(), s.ID, "probe", bytes.NewReader(probe.Content), true); err != nil {
		t.Fatal(err)
	}

	ask := "cd /workspace && /box/probe all; grep ' /workspace ' /proc/self/mountinfo | cut -d' ' -f6; ls -ln f | cut -c1-10"
	want := "uid 1000\nown done\nchown refused\nmknod refused\ntrusted refused\ncapability refused\nremount refused\n" +
		"unmount refused\ndevice refused\nloop refused\n"
	out := string(a.Shell(t, s.ID, ask).Stdout)
	if !strings.HasPrefix(out, want) || !strings.Contains(out, "nosuid") || !strings.Contains(out, "nodev") {
		t.Errorf("of a program's own: %s\nwant %s", out, want)
	}

	endSession(t, a, s.ID)

	file := filepath.Join(t.TempDir(), "probe")
	if err := os.WriteFile(file, probe.Content, 0o755); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("debugfs", "-w", "-f", "-", filepath.Join(a.Dir, "volumes", "0", "v.ext4"))
	cmd.Stdin = strings.NewReader(fmt.Sprintf("write %s su\nsif su mode 0106755\nsif su uid 0\nsif su gid 0\nmknod "+
		"sda b 8 0\nsif sda mode 060666\nmknod null c 1 3\nsif null mode 020666\n", file))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("debugfs: %v\n%s", err, out)
	}

	s = volumeSession(t, a, "v", nil)
	a.WantOutput(t, s.ID, "ls -ln /workspace/su | cut -c1-10; /workspace/su; cat /workspace/sda 2>/dev/null || echo "+
		"no; echo x 2>/dev/null >/workspace/null || echo no", "-rwsr-sr-x\nuid 1000\nno\nno\n")
	endSession(t, a, s.ID)
	noLoops(t, a)
}

// FIO-08, for a volume: a program that swaps names during brig's accesses causes no file of the
// host to be read, written or removed.
func TestVolumeHostileSwaps(t *testing.T) {
	a := harness.VolumeAgent(t, "--slots", "2")
	dir := harness.PublicDir(t, "canary-")
	file, inside := harness.NewBystander(t, dir, "file"), harness.NewBystander(t, dir, "x")
	s := volumeSession(t, a, "v", smallest)
	swap := harness.CompileC(t, "swap", fmt.Sprintf(`#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void) {
	chdir("/workspace");
	mkdir("real", 0777); close(open("real/x", O_CREAT | O_WRONLY, 0666)); close(open("f", O_CREAT | O_WRONLY, 0666));
	symlink("%[1]s", "dlink"); symlink("%[1]s/file", "flink");
	for (;;) {
		renameat2(AT_FDCWD, "real", AT_FDCWD, "dlink", RENAME_EXCHANGE);
		renameat2(AT_FDCWD, "f", AT_FDCWD, "flink", RENAME_EXCHANGE);
	}
}`, dir))
	if err := a.PutFile(t.Context(), s.ID, "swap", bytes.NewReader(swap.Content), true); err != nil {
		t.Fatal(err)
	}

	a.WantOutput(t, s.ID, "./swap >/dev/null 2>&1 & until test -e /workspace/flink -o -L /workspace/flink; do :; done", "")
	files := a.Workspace(s.ID)
	begun, end := time.Now(), harness.Patience()
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()

	var mu sync.Mutex
	count := map[string]int{}
	enough := func() bool { // three seconds, and longer on a busy host
		mu.Lock()
		defer mu.Unlock()
		return ctx.Err() != nil || time.Since(begun) > harness.Slow(3*time.Second) && count["done"] > 0 && count["refused"] > 0
	}
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		var e *api.Error
		switch {
		case err == nil:
			count["done"]++
		case ctx.Err() != nil, time.Now().After(end): // on a busy host the end is noticed late
		case errors.As(err, &e) && (e.Code == api.CodeBadFile || e.Code == api.CodeNotFound):
			count["refused"]++
		default:
			t.Errorf("brig failed: %v", err)
		}
	}

	var wg sync.WaitGroup
	for _, work := range []func(){
		func() {
			for _, name := range []string{"f", "flink", "real/x", "dlink/file"} {
				var got bytes.Buffer
				err := files.Get(ctx, name, &got)
				if strings.Contains(got.String(), corpus.Secret) {
					t.Errorf("get %s gave the host's file", name)
				}
				note(err)
			}
		},
		func() {
			for _, name := range []string{"f", "real/x", "dlink/y"} {
				note(files.Put(ctx, name, strings.NewReader("put"), false))
			}
			for _, name := range []string{"real/x", "dlink/file"} {
				note(files.Delete(ctx, name))
			}
			_, err := files.List(ctx, "")
			note(err)
		},
	} {
		wg.Go(func() {
			for !enough() {
				work()
			}
		})
	}

	wg.Wait()
	if count["done"] == 0 || count["refused"] == 0 {
		t.Errorf("%v: there was no race", count)
	}

	for _, b := range []harness.Bystander{file, inside} {
		if b.Touched(t) {
			t.Errorf("%s has changed", b.Path)
		}
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("in the host's directory: %v, %v", left, err)
	}

	endSession(t, a, s.ID)
}

// A session ends in less than five seconds although a fork bomb writes to its volume. The volume is
// intact, and another session may have it at once.
func TestVolumeEndsUnderAForkBomb(t *testing.T) {
	a := harness.VolumeAgent(t)
	bomb := harness.CompileC(t, "bomb", `#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
	static char block[1 << 16];
	memset(block, 'x', sizeof block);
	for (int i = 1; i < 65; i++) signal(i, SIG_IGN);
	for (;;) {
		int child = fork();
		if (child) {
			if (child < 0) usleep(1000); // or the kernel's own memory of forks that it refuses meets the limit
			continue;
		}
		setsid();
		char name[64];
		sprintf(name, "/workspace/f%d", getpid() % 200);
		int fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
		for (int i = 0; i < 64; i++) write(fd, block, sizeof block);
		if (getpid() % 3 == 0) fsync(fd);
		if (getpid() % 5 == 0) unlink(name);
		close(fd);
	}
}`)

	s := a.NewSession(t, func(s *api.SessionRequest) {
		withVolume("v", nil)(s)
		s.Limits.Pids = 64
	})
	if err := a.PutFile(t.Context(), s.ID, "bomb", bytes.NewReader(bomb.Content), true); err != nil {
		t.Fatal(err)
	}

	a.WantOutput(t, s.ID, "(./bomb &) >/dev/null 2>&1; sleep 3", "")
	begun := time.Now()
	endSession(t, a, s.ID)
	if took := time.Since(begun); took > harness.Slow(20*time.Second) {
		t.Errorf("its end took %s; want less than 20 s", took)
	}

	noLoops(t, a)
	wantCleanFileSystem(t, a, "0", "v.ext4")
	s = volumeSession(t, a, "v", nil)
	a.WantOutput(t, s.ID, "rm -f /workspace/*; ls -A /workspace; echo well >/workspace/f; cat /workspace/f", "well\n")
	endSession(t, a, s.ID)
}

// A volume's name is only a name: it leads nowhere, and two different names are two volumes.
func TestVolumeHostileNames(t *testing.T) {
	a := harness.VolumeAgent(t, "--volumes-total", "240M")
	names := []string{"a", "/", "//", ".ext4", "a/b", "a%2Fb", "../a", "..", ".", ".a", "%2Ea", "/etc/passwd", "ü 😀 \"'", "-rf",
		strings.Repeat("x", 200), strings.Repeat("../", 66), strings.Repeat("x", 201), "a\x00b", "a\nb", "lock", ".new-1"}
	var kept []string
	for _, name := range names {
		ask := api.SessionRequest{Image: "tiny", Limits: api.Limits{Memory: 32 * api.MiB, Scratch: api.MiB}}
		withVolume(name, smallest)(&ask)
		s, err := a.CreateSession(t.Context(), ask)
		if err != nil {
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.CodeBadRequest && e.Code != api.CodeHostExhausted {
				t.Errorf("%.20q: %v", name, err)
			}
			continue
		}

		a.WantOutput(t, s.ID, "ls -A /workspace; touch /workspace/mine", "")
		endSession(t, a, s.ID)
		kept = append(kept, name)
	}

	foreign := filepath.Join(a.Dir, "volumes", "0", ".ext4") // the operator's own file, not a volume
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	all, err := a.Volumes(t.Context())
	if err := os.Remove(foreign); err != nil {
		t.Error(err)
	}
	if err != nil || len(all) != len(kept) || len(kept) < 10 {
		t.Errorf("volumes %+v, %v; want %q", all, err, kept)
	}

	for _, dir := range []string{a.Dir, filepath.Join(a.Dir, "volumes")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := e.Name(); name != "0" && name != "lock" && name != "volumes" && name != "run" && name != "s" {
				t.Errorf("%s is in %s", name, dir)
			}
		}
	}

	for _, path := range []string{"..%2f..%2fetc%2fpasswd", "%00", "%ff", strings.Repeat("x", 300)} {
		if status := rawRequest(t, a, http.MethodDelete, "/v1/volumes/"+path); status != http.StatusBadRequest && status != http.StatusNotFound {
			t.Errorf("delete %.40s: status %d", path, status)
		}
	}

	for _, name := range kept {
		if err := a.DeleteVolume(t.Context(), name); err != nil {
			t.Errorf("remove %.20q: %v", name, err)
		}
	}

	if left, err := os.ReadDir(filepath.Join(a.Dir, "volumes", "0")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What one volume contained is in no other, neither in its files nor in its blocks.
func TestVolumeShowsNothingOfAnother(t *testing.T) {
	a := harness.VolumeAgent(t)
	marker := "marker-of-a-removed-volume"
	s := volumeSession(t, a, "first", smallest)
	a.Shell(t, s.ID, "yes "+marker+" | head -c 30000000 >/workspace/f; sync")
	endSession(t, a, s.ID)
	at := filepath.Join(a.Dir, "volumes", "0")
	if text, err := os.ReadFile(filepath.Join(at, "first.ext4")); err != nil || !bytes.Contains(text, []byte(marker)) {
		t.Fatalf("the first holds no marker: %v", err)
	}
	if err := a.DeleteVolume(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}

	s = volumeSession(t, a, "second", smallest)
	a.WantOutput(t, s.ID, "truncate -s 8M /workspace/hole; grep -c marker /workspace/hole || true", "0\n")
	endSession(t, a, s.ID)
	if text, err := os.ReadFile(filepath.Join(at, "second.ext4")); err != nil || bytes.Contains(text, []byte(marker)) {
		t.Errorf("the second volume's blocks hold what the first held: %v", err)
	}
}
