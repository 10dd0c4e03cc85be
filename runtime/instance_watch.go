package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// A watch reports that the files of an instance were removed or replaced. Without them nothing finds
// the agent's groups if it is killed, and its private mount is gone: removing a mount point in another
// mount namespace detaches what is mounted there (Linux 3.18, fs/namei.c, detach_mounts).
type watch struct {
	lost   chan struct{} // closed when the files are gone
	events *os.File
	loop   sync.WaitGroup
}

// newWatch watches the lock of an instance, which sees its own removal (inotify(7), IN_ATTRIB: the
// number of links changes). It costs nothing while nothing happens.
func newWatch(i *instance) (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}

	w := &watch{lost: make(chan struct{}), events: os.NewFile(uintptr(fd), "inotify")}
	path := filepath.Join(i.dir, "lock")
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_ATTRIB|unix.IN_MOVE_SELF|unix.IN_DELETE_SELF); err != nil {
		w.events.Close()
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}

	w.loop.Go(func() {
		buf := make([]byte, 4096)
		for i.there() {
			if _, err := w.events.Read(buf); err != nil {
				return // closed by stop
			}
		}
		close(w.lost)
	})

	return w, nil
}

// stop ends the watch.
func (w *watch) stop() error {
	err := w.events.Close()
	w.loop.Wait()
	return err
}

// there reports whether the lock that the agent holds is the one at its path.
func (i *instance) there() bool {
	own, err := i.lock.Stat()
	if err != nil {
		return true // unknown
	}
	at, err := os.Stat(filepath.Join(i.dir, "lock"))
	return err == nil && os.SameFile(own, at)
}
