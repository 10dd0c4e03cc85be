// Package identity is the user and the group that a service runs as. A service that root starts takes what it needs as
// root, and gives root up before it answers a request.
package identity

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// FallbackID is the uid and gid of the service on a host that has no user for it. It is from the
// range that systemd assigns to services without a user, so that no user of the host has it.
const FallbackID = 62187

// DefaultUser is the user of the service on hosts that have it.
const DefaultUser = "brig-gateway"

// An ID is the user and the group that the service will run as. The zero value is root's, which Choose never returns.
type ID struct{ UID, GID int }

// Choose chooses the identity: for root the user of this name, and otherwise the caller's own, which takes no name. An
// empty name is DefaultUser, or FallbackID if the host has no such user. A user that is unknown, and root, are errors.
func Choose(name string) (ID, error) {
	if os.Geteuid() != 0 {
		if name != "" {
			return ID{}, errors.New("--user needs root: start it as that user instead")
		}
		return ID{os.Geteuid(), os.Getegid()}, nil
	}

	u, err := user.Lookup(cmp.Or(name, DefaultUser))
	var unknown user.UnknownUserError
	switch {
	case errors.As(err, &unknown) && name == "":
		return ID{FallbackID, FallbackID}, nil
	case err != nil:
		return ID{}, fmt.Errorf("--user: %w", err)
	}

	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return ID{}, err
	}

	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return ID{}, err
	}
	if uid == 0 {
		return ID{}, errors.New("--user root: the service must not have root's privileges; name another user")
	}
	return ID{uid, gid}, nil
}

// Drop gives up root in all threads and for good: the process cannot gain privileges any more. It
// keeps the group that owns the agent's socket, if there is one. A process without root stays as it is.
func (i ID) Drop(socket string) error {
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
	if err := syscall.Setresgid(i.GID, i.GID, i.GID); err != nil {
		return os.NewSyscallError("setresgid", err)
	}
	if err := syscall.Setresuid(i.UID, i.UID, i.UID); err != nil {
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

// CanUse checks, while the process is still root, whether the identity can reach and use the
// socket, by the modes of the socket and of the directories above it. Other checks of the kernel,
// such as ACLs, show only after root has been given up. Without root it checks nothing.
func (i ID) CanUse(socket string) error {
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
func (i ID) permits(st unix.Stat_t, groups []int, need uint32) bool {
	mode := st.Mode
	switch {
	case int(st.Uid) == i.UID:
		mode >>= 6
	case int(st.Gid) == i.GID || slices.Contains(groups, int(st.Gid)):
		mode >>= 3
	}
	return mode&need == need
}

func (i ID) socketError(socket string, err error) error {
	return fmt.Errorf("the agent's socket %s cannot be used by uid %d, which this service runs as: start brigd with "+
		"--group GROUP, and its socket in a directory that this user can enter; the service then keeps that group: %w", socket, i.UID, err)
}
