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
)

// spareID is the uid and gid of a service on a host that has no user for it: from
// the range that systemd gives to services without one, so that it is nobody's.
const spareID = 62187

// gatewayUser is used where it exists.
const gatewayUser = "brig-gateway"

// An identity is who the service will be.
type identity struct{ uid, gid int }

// dropTo decides it: ourselves, unless we are root.
func dropTo(name string) (identity, error) {
	if os.Geteuid() != 0 {
		if name != "" {
			return identity{}, errors.New("--user needs root: start it as that user instead")
		}
		return identity{os.Geteuid(), os.Getegid()}, nil
	}
	u, err := user.Lookup(cmp.Or(name, gatewayUser))
	var unknown user.UnknownUserError
	switch {
	case errors.As(err, &unknown) && name == "":
		return identity{spareID, spareID}, nil
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
		return identity{}, errors.New("--user root: the service holds no privilege; name another user")
	}
	return identity{uid, gid}, nil
}

// own makes the directory of what the service keeps, for its eyes only. One with
// others' files in it stays as it is.
func (i identity) own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make --data-dir: %w; name a directory of yours", err)
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
		if !keptByService(e.Name()) {
			return fmt.Errorf("--data-dir %s has %q in it, which is not this service's: name a directory of its own, for it is given to the user the service runs as", dir, e.Name())
		}
	}
	// An earlier service may have run as somebody else.
	err = handle.Chown(i.uid, i.gid)
	for _, e := range entries {
		err = errors.Join(err, i.ownFile(handle, e.Name()))
	}
	return err
}

// dirCure adds what helps to an error of who may not use the directory.
func dirCure(err error, dir string, uid int, asRoot bool) error {
	switch {
	case !errors.Is(err, fs.ErrPermission):
		return err
	case asRoot:
		return fmt.Errorf("%w: uid %d, which the service runs as, may not use %s: name a directory that it can reach with --data-dir", err, uid, dir)
	}
	return fmt.Errorf("%w: uid %d may not use %s: name a directory of yours with --data-dir, or use sudo", err, uid, dir)
}

// keptByService reports whether a name in the directory is of what the service keeps.
func keptByService(name string) bool {
	return strings.HasPrefix(name, "history.db") || name == "sessions" || strings.HasPrefix(name, ".sessions-") || name == "lost+found"
}

// ownFile gives away a regular file that has this one name. An earlier service may have
// been taken over, and left another name of a file of root's.
func (i identity) ownFile(dir *os.File, name string) error {
	if name == "lost+found" { // the file system's
		return nil
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return fmt.Errorf("--data-dir: %s is no regular file, or has another name elsewhere: remove it", name)
	}
	return os.NewSyscallError("fchownat", unix.Fchownat(fd, "", i.uid, i.gid, unix.AT_EMPTY_PATH))
}

// do gives up root, in all threads and for good: the process can gain no privilege
// any more. The group that owns the agent's socket stays, where there is one.
func (i identity) do(socket string) error {
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
		return errors.New("root could not be given up")
	}
	if err := unix.Access(socket, unix.R_OK|unix.W_OK); err != nil {
		return i.unusable(socket, err)
	}
	return nil
}

// groupsFor gives the groups that the service keeps: the one that owns the agent's
// socket, where it may use it.
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

// mayUse reports, while we are root, whether the identity will reach the socket and may
// use it, by the modes of the socket and of the directories above. What else the kernel
// asks, such as an ACL, shows when root is gone.
func (i identity) mayUse(socket string) error {
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
			return i.unusable(socket, &os.PathError{Op: "use", Path: at, Err: unix.EACCES})
		}
		if at == "/" {
			return nil
		}
		at = filepath.Dir(at)
	}
}

// permits is the kernel's rule: of owner, group and others the first that fits decides.
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

func (i identity) unusable(socket string, err error) error {
	return fmt.Errorf("the agent's socket %s cannot be used by uid %d, which this service becomes: start brigd with --group GROUP, in a directory that this user can reach; the service then keeps that group: %w", socket, i.uid, err)
}
