package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// The names of what a service has in its data directory.
const (
	HistoryFile  = "history.db" // SQLite puts its other files next to it
	SessionsFile = "sessions"
	ProblemsDir  = "problems" // of stored problems: regular files alone
	BatchesDir   = "batches"  // it has a directory for each batch
)

// TakeDataDir makes the service's data directory, accessible to the service only. It refuses a directory
// that has other files in it, and leaves it as it is.
func (i ID) TakeDataDir(dir string) error {
	if err := shareddir.MakePrivate(dir); err != nil { // the service passes through its parents
		return fmt.Errorf("create --data-dir: %w; choose a directory that you own", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	defer root.Close()

	handle, err := root.Open(".")
	if err != nil {
		return err
	}
	defer handle.Close()

	entries, err := handle.ReadDir(-1)
	if err != nil {
		return err
	}

	for _, e := range entries {
		if !isServiceFile(e.Name()) {
			return fmt.Errorf("--data-dir %s contains %q, which is not a file of this service: choose a directory "+
				"for this service only, because it is given to the user that the service runs as", dir, e.Name())
		}
	}

	// An earlier service may have run as another user.
	err = handle.Chown(i.UID, i.GID)
	for _, e := range entries {
		depth := 0
		switch e.Name() {
		case "lost+found": // part of the file system
			continue
		case ProblemsDir:
			depth = 1
		case BatchesDir:
			depth = 2 // it has directories, which have files
		}
		err = errors.Join(err, i.takeFile(handle, e.Name(), depth))
	}

	return err
}

// isServiceFile reports whether a name in the data directory is one that the service uses.
func isServiceFile(name string) bool {
	return strings.HasPrefix(name, HistoryFile) || name == SessionsFile || name == ProblemsDir || name == BatchesDir ||
		strings.HasPrefix(name, ".sessions-") || name == "lost+found"
}

// takeFile gives a regular file with a single name to the service, or a directory with what is in it, as deep
// as depth says. An attacker who took over an earlier service may have left a hard link to a file of root.
func (i ID) takeFile(dir *os.File, name string, depth int) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)

	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}

	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFDIR && depth > 0:
		if err := i.takeDir(fd, name, depth); err != nil {
			return err
		}
	case kind != unix.S_IFREG || st.Nlink != 1:
		return fmt.Errorf("--data-dir: %s is not a regular file, or has several hard links: remove it", name)
	}

	return os.NewSyscallError("fchownat", unix.Fchownat(fd, "", i.UID, i.GID, unix.AT_EMPTY_PATH))
}

// takeDir gives what is in a directory to the service.
func (i ID) takeDir(fd int, name string, depth int) error {
	in, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	dir := os.NewFile(uintptr(in), name)
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, n := range names {
		err = errors.Join(err, i.takeFile(dir, n, depth-1))
	}
	return err
}

// LockDataDir locks the directory against other services until the file is closed: a service that
// starts ends the sessions it finds there, as if they were those of a killed service. It does not wait.
func LockDataDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}

	err = flock.Try(f)
	if errors.Is(err, flock.ErrHeld) {
		err = fmt.Errorf("%s is in use by another brig serve: stop that one, or choose another directory with --data-dir",
			dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// WithDirRemedy adds a remedy to a permission error of the directory, which the service uses as uid. asRoot says that
// root has started it. Other errors, and nil, stay as they are.
func WithDirRemedy(err error, dir string, uid int, asRoot bool) error {
	switch {
	case !errors.Is(err, fs.ErrPermission):
		return err
	case asRoot:
		return fmt.Errorf("%w: uid %d, which the service runs as, has no access to %s: with --data-dir choose a "+
			"directory that it can access", err, uid, dir)
	}
	return fmt.Errorf("%w: uid %d has no access to %s: with --data-dir choose a directory that you own, or use sudo", err,
		uid, dir)
}
