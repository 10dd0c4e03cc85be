package runtime

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/internal/shareddir"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
)

// An instance represents one agent on the host: a directory that the agent locks while it lives,
// with a record of every cgroup it made. All mounts below the directory are in the agent's own
// mount namespace and end with it.
//
//	<run>/<id>/lock      locked by the living agent; contains the memory that it has reserved
//	<run>/<id>/groups    one cgroup path per line, written before each mkdir
//	<run>/<id>/mnt/      a tmpfs only the agent sees: cells/, state/
type instance struct {
	id     string
	dir    string
	lock   *os.File
	groups *os.File
	watch  *watch
}

// newInstance claims a fresh directory below run.
func newInstance(run string) (_ *instance, err error) {
	// Other users pass through to their cells' roots; they can neither list nor write.
	if err := os.MkdirAll(run, 0o711); err != nil {
		return nil, err
	}

	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, err
	}
	if err := checkPassable(run); err != nil {
		return nil, err
	}

	i := &instance{id: hex.EncodeToString(random[:])}
	i.dir = filepath.Join(run, i.id)
	undo := rollback.On(&err)
	defer undo.Run()

	if err := os.Mkdir(i.dir, 0o711); err != nil {
		return nil, err
	}

	undo.Add(func() error { return os.Remove(i.dir) })
	if i.lock, err = linux.LockFile(filepath.Join(i.dir, "lock"), true); err != nil {
		return nil, err
	}

	undo.Add(func() error { return errors.Join(i.lock.Close(), os.Remove(i.lock.Name())) })
	if i.groups, err = os.OpenFile(filepath.Join(i.dir, "groups"),
		os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}

	undo.Add(func() error { return errors.Join(i.groups.Close(), os.Remove(i.groups.Name())) })
	if i.watch, err = newWatch(i); err != nil {
		return nil, err
	}

	undo.Add(func() error { return i.watch.stop() })
	if err := i.mount(); err != nil {
		return nil, err
	}

	undo.Release()
	return i, nil
}

// checkPassable refuses a directory that other users cannot pass through: the first process of a cell,
// which is no longer root on the host, reaches its root by path.
func checkPassable(dir string) error {
	at, err := shareddir.Impassable(dir)
	if at == "" || err != nil {
		return err
	}
	return api.Refuse(api.CodeUnsupported,
		"other users cannot pass through %s: choose a --run-dir below directories of mode 0711 or wider, such as %s", at,
		DefaultRunDir)
}

// mount mounts the private tmpfs. The agent is in its own mount namespace by now, so that no mount
// remains after a SIGKILL.
func (i *instance) mount() error {
	mnt := i.mnt()
	if err := os.Mkdir(mnt, 0o711); err != nil {
		return err
	}

	t, err := mount.NewTmpfs(unix.MOUNT_ATTR_NOSUID, [2]string{"size", "16m"}, [2]string{"mode", "0711"})
	if err != nil {
		return errors.Join(err, os.Remove(mnt))
	}
	defer t.Close()

	if err := mount.MoveMount(t, mnt); err != nil {
		return errors.Join(err, os.Remove(mnt))
	}

	for _, d := range []string{"cells", "state"} {
		if err := os.Mkdir(filepath.Join(mnt, d), 0o711); err != nil {
			return errors.Join(err, unix.Unmount(mnt, unix.MNT_DETACH), os.Remove(mnt))
		}
	}

	return nil
}

func (i *instance) mnt() string { return filepath.Join(i.dir, "mnt") }

// record writes down a cgroup path before the group is made.
func (i *instance) record(path string) error {
	_, err := i.groups.WriteString(path + "\n")
	return err
}

// Close removes the instance. Its groups must have been removed already. The mount of a lost instance
// has gone with its mount point.
func (i *instance) Close() error {
	err := i.watch.stop()
	if uerr := unix.Unmount(i.mnt(), unix.MNT_DETACH); i.there() {
		err = errors.Join(err, uerr)
	}
	return errors.Join(err, i.groups.Close(), removeInstance(i.dir), i.lock.Close())
}

// removeInstance deletes the directory, whose mounts have been removed. If its mount point has content,
// an agent made that after somebody had removed the directory below it.
func removeInstance(dir string) error {
	err := os.RemoveAll(filepath.Join(dir, "mnt"))
	for _, name := range []string{"groups", "lock", "."} {
		if rerr := os.Remove(filepath.Join(dir, name)); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// publishReserved tells agents that start later how much memory this one reserves.
func (i *instance) publishReserved(memory api.Size) error {
	_, err := i.lock.WriteAt([]byte(strconv.FormatInt(int64(memory), 10)+"\n"), 0)
	return err
}

// otherAgents is the memory reserved by other living agents of the run directory.
func (i *instance) otherAgents() (api.Size, error) {
	entries, err := os.ReadDir(filepath.Dir(i.dir))
	if err != nil {
		return 0, err
	}

	var all api.Size
	for _, e := range entries {
		if !e.IsDir() || len(e.Name()) != 8 || e.Name() == i.id {
			continue
		}

		path := filepath.Join(filepath.Dir(i.dir), e.Name(), "lock")
		lock, err := linux.LockFile(path, false)
		if err == nil { // the agent is dead
			if err := lock.Close(); err != nil {
				return 0, err
			}
			continue
		}

		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			all += api.Size(n)
		}
	}

	return all, nil
}

// creationTime is how old a directory without a lock may be and still belong to an agent that is
// starting. In practice that takes microseconds, on any host.
const creationTime = time.Minute

// SweepDead removes what killed agents left below run: their groups, with all processes that still
// run in them, and their directories. It returns the ids of the removed instances. A living agent
// holds its lock and is not touched.
func SweepDead(run string, log *slog.Logger) ([]string, error) {
	entries, err := os.ReadDir(run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	var swept []string
	for _, e := range entries {
		dir := filepath.Join(run, e.Name())
		if !e.IsDir() || len(e.Name()) != 8 {
			continue
		}

		lock, lerr := linux.LockFile(filepath.Join(dir, "lock"), false)
		if errors.Is(lerr, fs.ErrNotExist) {
			if st, serr := e.Info(); serr == nil && time.Since(st.ModTime()) > creationTime {
				err = errors.Join(err, removeInstance(dir)) // killed before it had a lock, or while SweepDead removed it
			}
			continue
		}
		if errors.Is(lerr, flock.ErrHeld) {
			continue // alive
		}
		if lerr != nil {
			err = errors.Join(err, lerr)
			continue
		}

		paths, rerr := readRecord(filepath.Join(dir, "groups"))
		serr := groups.Sweep(paths)
		if rerr == nil && serr == nil {
			serr = removeInstance(dir)
		}
		if oneErr := errors.Join(rerr, serr, lock.Close()); oneErr != nil {
			err = errors.Join(err, oneErr)
			continue
		}

		log.Warn("removed what a dead agent left behind", "instance", e.Name(), "groups", len(paths))
		swept = append(swept, e.Name())
	}

	return swept, err
}

// readRecord reads group paths. It ignores a last line cut short by a crash: that group had not
// been made yet.
func readRecord(path string) ([]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()

	var paths []string
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return paths, nil
		}
		paths = append(paths, strings.TrimSuffix(line, "\n"))
	}
}
