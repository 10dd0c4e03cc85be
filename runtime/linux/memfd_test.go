package linux

import (
	"errors"
	"os"
	"testing"

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
