package runtime

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// struct seccomp_notif and seccomp_notif_resp of linux/seccomp.h, since Linux 5.0.
type seccompNotif struct {
	ID         uint64
	Pid, Flags uint32
	Nr         int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

type seccompResp struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// The ioctls, as _IOWR('!', 0, struct seccomp_notif) and so on give them.
const (
	ioctlNotifRecv = 0xc0502100
	ioctlNotifSend = 0xc0182101
	ioctlNotifLive = 0x40082102
	notifContinue  = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE, since Linux 5.5
)

// receiveNotif takes one waiting notification. ok is false when the task died
// before we looked.
func receiveNotif(listener *os.File) (n seccompNotif, ok bool, err error) {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd(listener)), ioctlNotifRecv, uintptr(unsafe.Pointer(&n)))
	switch {
	case errno == unix.ENOENT || errno == unix.EINTR:
		return n, false, nil
	case errno != 0:
		return n, false, os.NewSyscallError("ioctl SECCOMP_IOCTL_NOTIF_RECV", errno)
	}
	return n, true, nil
}

// notifValid reports whether the task of a notification still waits in its call.
func notifValid(listener *os.File, id uint64) (bool, error) {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd(listener)), ioctlNotifLive, uintptr(unsafe.Pointer(&id)))
	switch {
	case errno == unix.ENOENT:
		return false, nil
	case errno != 0:
		return false, os.NewSyscallError("ioctl SECCOMP_IOCTL_NOTIF_ID_VALID", errno)
	}
	return true, nil
}

// letGo answers a notification with "carry the call out". Only profile mode log
// uses it: the arguments may change after we looked at them, so it decides nothing.
func letGo(listener *os.File, id uint64) error {
	resp := seccompResp{ID: id, Flags: notifContinue}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd(listener)), ioctlNotifSend, uintptr(unsafe.Pointer(&resp)))
	if errno != 0 && !errors.Is(errno, unix.ENOENT) {
		return os.NewSyscallError("ioctl SECCOMP_IOCTL_NOTIF_SEND", errno)
	}
	return nil
}
