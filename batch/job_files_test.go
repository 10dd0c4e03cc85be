package batch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// A source that is a FIFO, a device or a directory is refused at once: the open of a FIFO would wait for a writer, and
// the batch with it.
func TestASourceIsARegularFile(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo.py"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.py"), 0o700); err != nil {
		t.Fatal(err)
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	for _, name := range []string{"fifo.py", "dir.py", "missing.py"} {
		refused := make(chan error, 1)
		go func() { refused <- ReadSourceFile(root, &api.Job{SourceFile: name}) }()
		select {
		case err := <-refused:
			if !api.HasCode(err, api.CodeBadRequest) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits", name)
		}
	}
}
