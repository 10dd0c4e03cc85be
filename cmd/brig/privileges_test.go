package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Root gives the service its own files, and no others.
func TestDataDirOwnership(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}

	service := identity{fallbackServiceID, fallbackServiceID}
	owner := func(path string) uint32 {
		t.Helper()
		st, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Sys().(*syscall.Stat_t).Uid
	}

	fill := func(names ...string) string {
		t.Helper()
		dir := t.TempDir()
		for _, n := range names {
			if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}

	dir := fill("history.db", "history.db-wal", "sessions", ".sessions-1")
	problems := filepath.Join(dir, problemsDir)
	if err := os.Rename(fill("ann:sum"), problems); err != nil {
		t.Fatal(err)
	}
	if err := service.takeDataDir(dir); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{".", "history.db", "history.db-wal", "sessions", ".sessions-1", "problems", "problems/ann:sum"} {
		if got := owner(filepath.Join(dir, name)); got != fallbackServiceID {
			t.Errorf("%s is of uid %d", name, got)
		}
	}

	one := filepath.Join(dir, batchesName, "one")
	if err := os.MkdirAll(one, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(one, "state.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := service.takeDataDir(dir); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{filepath.Dir(one), one, filepath.Join(one, "state.json")} {
		if got := owner(name); got != fallbackServiceID {
			t.Errorf("%s is of uid %d", name, got)
		}
	}

	shared := fill("history.db", "passwd")
	if err := service.takeDataDir(shared); err == nil {
		t.Error("a directory with another file was given away")
	}

	for _, name := range []string{".", "history.db", "passwd"} {
		if got := owner(filepath.Join(shared, name)); got != 0 {
			t.Errorf("%s of a shared directory is of uid %d", name, got)
		}
	}

	for what, link := range map[string]func(of, name string) error{"hard": os.Link, "symbolic": os.Symlink} {
		secret := filepath.Join(fill("shadow"), "shadow")
		for _, name := range []string{"sessions", batchesName + "/one/input.jsonl", batchesName + "/one/a/b"} {
			dir := fill()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := link(secret, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			if err := service.takeDataDir(dir); err == nil {
				t.Errorf("a %s link %s was taken", what, name)
			}
		}

		if got := owner(secret); got != 0 {
			t.Errorf("through a %s link uid %d was given a file of root's", what, got)
		}

		inside := fill()
		if err := os.Rename(fill(), filepath.Join(inside, problemsDir)); err != nil {
			t.Fatal(err)
		}
		if err := link(secret, filepath.Join(inside, problemsDir, "ann:sum")); err != nil {
			t.Fatal(err)
		}
		if err := service.takeDataDir(inside); err == nil || owner(secret) != 0 {
			t.Errorf("a %s link among problems: %v, and the file is of uid %d", what, err, owner(secret))
		}
	}

	elsewhere := fill("shadow")
	dir = fill()
	if err := os.Symlink(elsewhere, filepath.Join(dir, problemsDir)); err != nil {
		t.Fatal(err)
	}
	if err := service.takeDataDir(dir); err == nil || owner(filepath.Join(elsewhere, "shadow")) != 0 {
		t.Errorf("a link in place of the problems: %v", err)
	}
}

// A process that can connect to a service without keys may run programs, so others must not be
// able to connect.
func TestSocketIsClosedToOthers(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))

	path := filepath.Join(t.TempDir(), "s")
	ln, err := serveOptions{listen: "unix:" + path}.listenOn()
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()

	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm()&0o007 != 0 {
		t.Errorf("mode %04o", st.Mode().Perm())
	}
}

func TestWithDirRemedy(t *testing.T) {
	denied := fmt.Errorf("open: %w", syscall.EACCES)
	for _, tt := range []struct {
		err    error
		asRoot bool
		want   string
	}{
		{denied, false, "open: permission denied: uid 7 has no access to /d: with --data-dir choose a directory that you own, or use sudo"},
		{denied, true, "open: permission denied: uid 7, which the service runs as, has no access to /d: with " +
			"--data-dir choose a directory that it can access"},
		{syscall.ENOSPC, false, "no space left on device"},
	} {
		if got := withDirRemedy(tt.err, "/d", 7, tt.asRoot); got.Error() != tt.want || !errors.Is(got, tt.err) {
			t.Errorf("%v", got)
		}
	}
}

// A socket that the service will not be able to use is reported before images are built.
func TestSocketIsCheckedBeforePrivilegesAreDropped(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give sockets away")
	}

	top, err := os.MkdirTemp("", "brig")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)

	dir := filepath.Join(top, "d")
	socket := filepath.Join(dir, "s")
	if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}

	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()

	for _, tt := range []struct {
		mode, dirMode os.FileMode
		uid, gid      int
		may           bool
	}{
		{0o600, 0o755, 0, 0, false},
		{0o660, 0o755, 0, 0, false}, // the service does not keep root's group
		{0o660, 0o755, 0, 60, true},
		{0o640, 0o755, 0, 60, false},
		{0o666, 0o755, 0, 0, true},
		{0o600, 0o755, fallbackServiceID, 0, true},
		{0o066, 0o755, fallbackServiceID, 60, false}, // the owner's part decides
		{0o660, 0o750, 0, 60, false},
		{0o660, 0o711, 0, 60, true},
	} {
		if err := errors.Join(os.Chmod(socket, tt.mode), os.Chown(socket, tt.uid, tt.gid), os.Chmod(dir, tt.dirMode)); err != nil {
			t.Fatal(err)
		}

		err := identity{fallbackServiceID, fallbackServiceID}.canUse(socket)
		if (err == nil) != tt.may {
			t.Errorf("%+v: %v", tt, err)
		}

		// The kernel decides the same for a process with that identity.
		c := exec.Command("test", "-r", socket, "-a", "-w", socket)
		groups, _ := groupsFor(socket)
		cred := &syscall.Credential{Uid: fallbackServiceID, Gid: fallbackServiceID}
		for _, g := range groups {
			cred.Groups = append(cred.Groups, uint32(g))
		}

		c.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		if may := c.Run() == nil; may != tt.may {
			t.Errorf("%+v: the kernel says %v", tt, may)
		}
	}
}
