package identity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Root gives the service its own files, and no others.
func TestDataDirOwnership(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}

	service := ID{FallbackID, FallbackID}
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
	problems := filepath.Join(dir, ProblemsDir)
	if err := os.Rename(fill("ann:sum"), problems); err != nil {
		t.Fatal(err)
	}
	if err := service.TakeDataDir(dir); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{".", "history.db", "history.db-wal", "sessions", ".sessions-1", "problems", "problems/ann:sum"} {
		if got := owner(filepath.Join(dir, name)); got != FallbackID {
			t.Errorf("%s is of uid %d", name, got)
		}
	}

	one := filepath.Join(dir, BatchesDir, "one")
	if err := os.MkdirAll(one, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(one, "state.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := service.TakeDataDir(dir); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{filepath.Dir(one), one, filepath.Join(one, "state.json")} {
		if got := owner(name); got != FallbackID {
			t.Errorf("%s is of uid %d", name, got)
		}
	}

	shared := fill("history.db", "passwd")
	if err := service.TakeDataDir(shared); err == nil {
		t.Error("a directory with another file was given away")
	}

	for _, name := range []string{".", "history.db", "passwd"} {
		if got := owner(filepath.Join(shared, name)); got != 0 {
			t.Errorf("%s of a shared directory is of uid %d", name, got)
		}
	}

	for what, link := range map[string]func(of, name string) error{"hard": os.Link, "symbolic": os.Symlink} {
		secret := filepath.Join(fill("shadow"), "shadow")
		for _, name := range []string{"sessions", BatchesDir + "/one/input.jsonl", BatchesDir + "/one/a/b"} {
			dir := fill()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := link(secret, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			if err := service.TakeDataDir(dir); err == nil {
				t.Errorf("a %s link %s was taken", what, name)
			}
		}

		if got := owner(secret); got != 0 {
			t.Errorf("through a %s link uid %d was given a file of root's", what, got)
		}

		inside := fill()
		if err := os.Rename(fill(), filepath.Join(inside, ProblemsDir)); err != nil {
			t.Fatal(err)
		}
		if err := link(secret, filepath.Join(inside, ProblemsDir, "ann:sum")); err != nil {
			t.Fatal(err)
		}
		if err := service.TakeDataDir(inside); err == nil || owner(secret) != 0 {
			t.Errorf("a %s link among problems: %v, and the file is of uid %d", what, err, owner(secret))
		}
	}

	elsewhere := fill("shadow")
	dir = fill()
	if err := os.Symlink(elsewhere, filepath.Join(dir, ProblemsDir)); err != nil {
		t.Fatal(err)
	}
	if err := service.TakeDataDir(dir); err == nil || owner(filepath.Join(elsewhere, "shadow")) != 0 {
		t.Errorf("a link in place of the problems: %v", err)
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
		if got := WithDirRemedy(tt.err, "/d", 7, tt.asRoot); got.Error() != tt.want || !errors.Is(got, tt.err) {
			t.Errorf("%v", got)
		}
	}
}

func TestDataDirIsLockedByOneService(t *testing.T) {
	dir := t.TempDir()
	f, err := LockDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockDataDir(dir); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("held twice: %v; want the name of --data-dir", err)
	}

	f.Close()
	if f, err = LockDataDir(dir); err != nil {
		t.Fatalf("held again: %v", err)
	}

	f.Close()
}
