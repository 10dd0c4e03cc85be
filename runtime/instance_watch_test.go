package runtime

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// An agent notices that its directory was removed, moved away or replaced, and nothing else.
func TestALostInstanceIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(dir string) error
		lost bool
	}{
		{"removed", os.RemoveAll, true},
		{"its lock removed", func(dir string) error { return os.Remove(filepath.Join(dir, "lock")) }, true},
		{"its lock moved", func(dir string) error { return os.Rename(filepath.Join(dir, "lock"), filepath.Join(dir, "x")) }, true},
		{"its lock replaced", func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
				return err
			}
			return os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "lock"))
		}, true},
		{"another mode", func(dir string) error { return os.Chmod(filepath.Join(dir, "lock"), 0o640) }, false},
		{"what it has reserved", func(dir string) error { return os.WriteFile(filepath.Join(dir, "lock"), []byte("1\n"), 0o600) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := &instance{dir: filepath.Join(t.TempDir(), "01234567")}
			if err := os.Mkdir(i.dir, 0o711); err != nil {
				t.Fatal(err)
			}

			var err error
			if i.lock, err = linux.LockFile(filepath.Join(i.dir, "lock"), true); err != nil {
				t.Fatal(err)
			}
			defer i.lock.Close()

			w, err := newWatch(i)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.do(i.dir); err != nil {
				t.Fatal(err)
			}
			if tt.lost {
				<-w.lost
			}
			if err := w.stop(); err != nil {
				t.Error(err)
			}

			select {
			case <-w.lost:
				if !tt.lost {
					t.Error("it is taken for lost")
				}
			default:
			}
		})
	}
}
