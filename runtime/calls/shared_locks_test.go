package calls

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// TPL-10. A memfd of root's, as a template is, counts as a file that other cells have, whatever its
// mode; one of a program's does not. A descriptor that another thread changes is none of the run's own.
func TestMemfdsOfRootAreShared(t *testing.T) {
	testenv.NeedRoot(t)
	box, err := os.Create(filepath.Join(t.TempDir(), "box"))
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()

	own, err := OwnFilesOf(box)
	if err != nil {
		t.Fatal(err)
	}

	memfd := func(uid int) *os.File {
		t.Helper()
		fd, err := unix.MemfdCreate("locks", unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "memfd")
		t.Cleanup(func() { _ = f.Close() })
		if err := f.Chown(uid, uid); err != nil {
			t.Fatal(err)
		}
		return f
	}

	template, program := memfd(0), memfd(1000)
	for name, tt := range map[string]struct {
		file   *os.File
		shared bool
	}{
		"the template":      {template, true},
		"a program's memfd": {program, false},
		"a file of the box": {box, false},
	} {
		lock := unix.Flock_t{Type: unix.F_RDLCK, Len: 1}
		if err := unix.FcntlFlock(tt.file.Fd(), unix.F_SETLK, &lock); err != nil {
			t.Fatal(err)
		}
		if err := flock.TryShared(tt.file); err != nil {
			t.Fatal(err)
		}

		want := LockCount{records: 1, whole: 1}
		if tt.shared {
			want.shared = sharedCount{1, 1}
		}

		count := func(descriptor *os.File) LockCount {
			t.Helper()
			held, err := fileLocks(fmt.Sprintf("/proc/self/fdinfo/%d", linux.FD(tt.file)), fmt.Sprintf("/proc/self/fd/%d", linux.FD(descriptor)),
				own, bufio.NewReader(nil))
			if err != nil {
				t.Fatal(err)
			}
			return held
		}
		if held := count(tt.file); held != want {
			t.Errorf("%s: %+v; want %+v", name, held, want)
		}
		if got := own.Locks(linux.SeccompNotif{Pid: uint32(os.Getpid()), Args: [6]uint64{uint64(linux.FD(tt.file))}}); got != tt.shared {
			t.Errorf("%s: a call locks a shared file: %v", name, got)
		}
		if held := count(program); tt.shared && held != want {
			t.Errorf("%s, its descriptor changed: %+v; want %+v", name, held, want)
		}
	}
}
