package linux

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A page that is busy for a moment does not fail an agent's start. A sealed file cannot be written.
func TestSealedMemfd(t *testing.T) {
	f, err := SealedMemfd("t", []byte("content"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a write to a sealed memfd: %v; want it refused", err)
	}

	for _, exec := range []bool{true, false} { // TPL-05
		f, err := SealedMemfd("t", []byte("content"), exec)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Mode().Perm()&0o222 != 0 || (info.Mode()&0o111 != 0) != exec {
			t.Errorf("exec %v: mode %v, %v; want that none but its owner may open it for writing", exec, info.Mode(), err)
		}
	}

	for _, c := range []struct {
		name string
		busy int
		then error
	}{
		{"busy at first", 3, nil},
		{"never to be sealed", 0, unix.EPERM},
	} {
		calls := 0
		err := retrySeal("t", func() error {
			if calls++; calls <= c.busy {
				return unix.EBUSY
			}
			return c.then
		})
		if !errors.Is(err, c.then) || calls != c.busy+1 {
			t.Errorf("%s: %v after %d calls; want %v after %d", c.name, err, calls, c.then, c.busy+1)
		}
	}
}

// TPL-13. A read does not change the time at which a sealed file was last accessed, and would without the flag.
func TestSealedMemfdKeepsItsAccessTime(t *testing.T) {
	f, err := SealedMemfd("t", []byte("content"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	changes := accessChanges(t, f)
	err = unix.IoctlSetPointerInt(FD(f), unix.FS_IOC_SETFLAGS, 0)
	if errors.Is(err, unix.ENOTTY) {
		t.Skip("this kernel has no such flag for memfds (docs/kernel.md): a run learns when the last one began")
	}
	if err != nil {
		t.Fatal(err)
	}
	if without := accessChanges(t, f); changes || !without {
		t.Errorf("the time of access changes: %v; without the flag: %v", changes, without)
	}
}

// accessChanges reports whether a read changes the time at which a file was last accessed.
func accessChanges(t *testing.T, f *os.File) bool {
	t.Helper()
	var times [2]unix.Timespec
	for i := range times {
		var st unix.Stat_t
		if err := unix.Fstat(FD(f), &st); err != nil {
			t.Fatal(err)
		}
		times[i] = st.Atim
		time.Sleep(20 * time.Millisecond) // the kernel's time of files has steps of a tick
		if _, err := f.ReadAt(make([]byte, 1), 0); err != nil {
			t.Fatal(err)
		}
	}

	return times[0] != times[1]
}

// A file is copied from where it stands, up to the limit of its reader, like any other content.
func TestSealedCopyOfAFile(t *testing.T) {
	source, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()

	if _, err := source.WriteString("0123456789"); err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		from io.Reader
		want string
	}{
		"the rest of a file":      {source, "23456789"},
		"a part of it":            {io.LimitReader(source, 3), "234"},
		"less than the limit":     {io.LimitReader(source, 100), "23456789"},
		"content in memory":       {strings.NewReader("abc"), "abc"},
		"a part of what is there": {io.LimitReader(strings.NewReader("abc"), 2), "ab"},
	} {
		if _, err := source.Seek(2, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		f, err := SealedCopy("t", tt.from, true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer f.Close()

		got := make([]byte, 100)
		n, _ := f.ReadAt(got, 0) // EOF: it is shorter
		if string(got[:n]) != tt.want {
			t.Errorf("%s: %q; want %q", name, got[:n], tt.want)
		}
	}
}
