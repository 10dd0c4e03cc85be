package linux

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// WithRightsOf calls do on a thread of its own that has the host ids uid and gid, no further groups
// and no capability, so that the kernel permits it what it permits a process of that user. The
// thread ends with do, so nothing needs to take these ids back.
//
// All ids are changed, not only those of the file system: the kernel gives the owner of a user
// namespace every capability in it, and the owner of the cells' is effective user 0
// (security/commoncap.c, cap_capable). So a thread of root could look at processes of the cell that
// are hidden from its program (PTH-04).
//
// do must start no goroutine or process for which these rights matter. Descriptors that it opens
// belong to the whole process.
func WithRightsOf(uid, gid int, do func() error) error {
	done := make(chan error, 1)
	go onOwnThread(func() {
		err := dropTo(uid, gid)
		if err == nil {
			err = do()
		}
		done <- err
	})
	return <-done
}

// onOwnThread calls do on a thread that ends with it: Go ends the thread of a goroutine that ends
// while it is locked to it. The first thread of a process never ends, and /proc shows its ids for those
// of the process, so do does not get that one.
func onOwnThread(do func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		do()
		return
	}

	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() { // on another thread, as this one is locked
		defer close(done)
		onOwnThread(do)
	}()
	<-done
}

// dropTo gives this thread the ids, and takes all groups and capabilities from it. The functions of
// package syscall would change all threads.
func dropTo(uid, gid int) error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return os.NewSyscallError("setgroups", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); e != 0 {
		return os.NewSyscallError("setresgid", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
		return os.NewSyscallError("setresuid", e)
	}

	// The change of ids has emptied the sets, unless securebits say otherwise.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return os.NewSyscallError("capset", err)
	}
	var left [2]unix.CapUserData
	if err := unix.Capget(&header, &left[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if left != none {
		return fmt.Errorf("a thread for the rights of user %d keeps capabilities: %x", uid, left)
	}
	return nil
}
