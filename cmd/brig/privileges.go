package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/shareddir"
)

// fallbackServiceID is the uid and gid of the service on a host that has no user for it. It is from the
// range that systemd assigns to services without a user, so that no user of the host has it.
const fallbackServiceID = 62187

// serviceUser is the user of the service on hosts that have it.
const serviceUser = "brig-gateway"

// An identity is the user and the group that the service will run as.
type identity struct{ uid, gid int }

// chooseIdentity chooses the identity: for root the named user, otherwise the caller's own.
func chooseIdentity(name string) (identity, error) {
	if os.Geteuid() != 0 {
		if name != "" {
			return identity{}, errors.New("--user needs root: start it as that user instead")
		}
		return identity{os.Geteuid(), os.Getegid()}, nil
	}

	u, err := user.Lookup(cmp.Or(name, serviceUser))
	var unknown user.UnknownUserError
	switch {
	case errors.As(err, &unknown) && name == "":
		return identity{fallbackServiceID, fallbackServiceID}, nil
	case err != nil:
		return identity{}, fmt.Errorf("--user: %w", err)
	}

	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return identity{}, err
	}

	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return identity{}, err
	}
	if uid == 0 {
		return identity{}, errors.New("--user root: the service must not have root's privileges; name another user")
	}
	return identity{uid, gid}, nil
}

// takeDataDir makes the service's data directory, accessible to the service only. It refuses a directory
// that has other files in it, and leaves it as it is.
func (i identity) takeDataDir(dir string) error {
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
	err = handle.Chown(i.uid, i.gid)
	for _, e := range entries {
		depth := 0
		switch e.Name() {
		case "lost+found": // part of the file system
			continue
		case problemsDir:
			depth = 1
		case batchesName:
			depth = 2 // it has directories, which have files
		}
		err = errors.Join(err, i.takeFile(handle, e.Name(), depth))
	}

	return err
}

// problemsDir is the directory of stored problems in the data directory. It has regular files alone.
const problemsDir = "problems"

// withDirRemedy adds a remedy to a permission error of the directory.
func withDirRemedy(err error, dir string, uid int, asRoot bool) error {
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

// batchesName is the name of the directory of the batches in the data directory.
const batchesName = "batches"

// isServiceFile reports whether a name in the data directory is one that the service uses.
func isServiceFile(name string) bool {
	return strings.HasPrefix(name, "history.db") || name == "sessions" || name == problemsDir || name == batchesName ||
		strings.HasPrefix(name, ".sessions-") || name == "lost+found"
}

// takeFile gives a regular file with a single name to the service, or a directory with what is in it, as deep
// as depth says. An attacker who took over an earlier service may have left a hard link to a file of root.
func (i identity) takeFile(dir *os.File, name string, depth int) error {
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

	return os.NewSyscallError("fchownat", unix.Fchownat(fd, "", i.uid, i.gid, unix.AT_EMPTY_PATH))
}

// takeDir gives what is in a directory to the service.
func (i identity) takeDir(fd int, name string, depth int) error {
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

// dropPrivileges gives up root in all threads and for good: the process cannot gain privileges any more. It
// keeps the group that owns the agent's socket, if there is one.
func (i identity) dropPrivileges(socket string) error {
	if os.Geteuid() != 0 {
		return nil
	}

	groups, err := groupsFor(socket)
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setresgid(i.gid, i.gid, i.gid); err != nil {
		return os.NewSyscallError("setresgid", err)
	}
	if err := syscall.Setresuid(i.uid, i.uid, i.uid); err != nil {
		return os.NewSyscallError("setresuid", err)
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); errno != 0 {
		return os.NewSyscallError("prctl(PR_SET_NO_NEW_PRIVS)", errno)
	}
	if os.Geteuid() == 0 || syscall.Setuid(0) == nil {
		return errors.New("could not give up root")
	}
	if err := unix.Access(socket, unix.R_OK|unix.W_OK); err != nil {
		return i.socketError(socket, err)
	}
	return nil
}

// groupsFor returns the groups that the service keeps: the one that owns the agent's socket, if
// that group may use the socket.
func groupsFor(socket string) ([]int, error) {
	var st unix.Stat_t
	if err := unix.Stat(socket, &st); err != nil {
		return nil, fmt.Errorf("the agent's socket %s: %w", socket, err)
	}
	if st.Gid != 0 && st.Mode&0o060 == 0o060 {
		return []int{int(st.Gid)}, nil
	}
	return nil, nil
}

// canUse checks, while the process is still root, whether the identity can reach and use the
// socket, by the modes of the socket and of the directories above it. Other checks of the kernel,
// such as ACLs, show only after root has been given up.
func (i identity) canUse(socket string) error {
	if os.Geteuid() != 0 {
		return nil
	}

	groups, err := groupsFor(socket)
	if err != nil {
		return err
	}

	at, err := filepath.Abs(socket)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return fmt.Errorf("the agent's socket: %w", err)
	}

	for need := uint32(0o6); ; need = 0o1 {
		var st unix.Stat_t
		if err := unix.Stat(at, &st); err != nil {
			return &os.PathError{Op: "stat", Path: at, Err: err}
		}
		if !i.permits(st, groups, need) {
			return i.socketError(socket, &os.PathError{Op: "use", Path: at, Err: unix.EACCES})
		}
		if at == "/" {
			return nil
		}
		at = filepath.Dir(at)
	}
}

// permits applies the kernel's rule: the first of owner, group and others that matches decides.
func (i identity) permits(st unix.Stat_t, groups []int, need uint32) bool {
	mode := st.Mode
	switch {
	case int(st.Uid) == i.uid:
		mode >>= 6
	case int(st.Gid) == i.gid || slices.Contains(groups, int(st.Gid)):
		mode >>= 3
	}
	return mode&need == need
}

func (i identity) socketError(socket string, err error) error {
	return fmt.Errorf("the agent's socket %s cannot be used by uid %d, which this service runs as: start brigd with "+
		"--group GROUP, and its socket in a directory that this user can enter; the service then keeps that group: %w", socket, i.uid, err)
}
