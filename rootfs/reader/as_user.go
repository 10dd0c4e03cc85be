package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/inputfile"
)

// Open opens a file that the user named, as this user if root acts for one: a rule of sudo
// that permits brig rootfs import alone gives its user no other file of root (IMG-44,
// TestImportReadsWithTheUsersAccess).
func (u User) Open(path string) (file *os.File, info fs.FileInfo, err error) {
	if u.Credential == nil || u.ownCache {
		return inputfile.Open(path)
	}
	err = asUser(u.Credential, func() (err error) {
		file, info, err = inputfile.Open(path)
		return err
	})
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: it is read as uid %d, which called brig through sudo: "+
			"make it readable for that user, or import it from a shell of root", err, u.Credential.Uid)
	}
	return file, info, err
}

// asUser calls do on a thread that has a user's access to files, and no capability. The thread ends
// afterwards.
func asUser(who *syscall.Credential, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the runtime ends the thread with this goroutine
		err := becomeUser(who)
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}

// becomeUser changes the calling thread alone, unlike the functions of package syscall.
func becomeUser(who *syscall.Credential) error {
	groups := make([]int, 0, len(who.Groups))
	for _, g := range who.Groups {
		groups = append(groups, int(g))
	}

	if err := unix.Setgroups(groups); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if _, err := unix.SetfsgidRetGid(int(who.Gid)); err != nil {
		return os.NewSyscallError("setfsgid", err)
	}
	if _, err := unix.SetfsuidRetUid(int(who.Uid)); err != nil {
		return os.NewSyscallError("setfsuid", err)
	}

	uid, _ := unix.SetfsuidRetUid(-1) // changes nothing, and returns what it is
	gid, _ := unix.SetfsgidRetGid(-1)
	if uint32(uid) != who.Uid || uint32(gid) != who.Gid {
		return fmt.Errorf("take the access of uid %d: the kernel refuses it", who.Uid)
	}

	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return os.NewSyscallError("capset", err)
	}
	return nil
}
