package linux

import (
	"errors"
	"os"
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
	if keep, changes := accessChanges(t, true), accessChanges(t, false); keep || !changes { // TPL-13
		t.Errorf("the time of access changes: %v; without the flag: %v", keep, changes)
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

// accessChanges reports whether a read changes the time at which a memfd was last accessed.
func accessChanges(t *testing.T, sealed bool) bool {
	t.Helper()
	f, err := SealedMemfd("t", []byte("content"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !sealed {
		if err := unix.IoctlSetPointerInt(FD(f), unix.FS_IOC_SETFLAGS, 0); err != nil {
			t.Fatal(err)
		}
	}
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
