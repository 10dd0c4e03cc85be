package linux

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A SeccompNotif is struct seccomp_notif of linux/seccomp.h, since Linux 5.0.
type SeccompNotif struct {
	ID         uint64
	Pid, Flags uint32
	Nr         int32
	Arch       uint32
	IP         uint64
	Args       [6]uint64
}

// A seccompResp is struct seccomp_notif_resp.
type seccompResp struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// The ioctls, as _IOWR('!', 0, struct seccomp_notif) and so on give them.
const (
	ioctlNotifRecv  = 0xc0502100
	ioctlNotifSend  = 0xc0182101
	ioctlNotifLive  = 0x40082102
	ioctlNotifFlags = 0x40082104
	notifContinue   = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE, since Linux 5.5
	notifSync       = 1 // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, since Linux 6.6
)

// WakeOnSameCPU makes the kernel wake the listener on the processor of the task that makes a call,
// because that task waits for the answer. A kernel before Linux 6.6 wakes it on any processor,
// which takes longer (docs/kernel.md).
func WakeOnSameCPU(listener *os.File) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(FD(listener)), ioctlNotifFlags, notifSync)
	if errno != 0 && errno != unix.EINVAL {
		return os.NewSyscallError("ioctl SECCOMP_IOCTL_NOTIF_SET_FLAGS", errno)
	}
	return nil
}

// ReceiveNotif receives one waiting notification. ok is false when the task died before that.
func ReceiveNotif(listener *os.File) (n SeccompNotif, ok bool, err error) {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(FD(listener)), ioctlNotifRecv, uintptr(unsafe.Pointer(&n)))
	switch {
	case errno == unix.ENOENT || errno == unix.EINTR:
		return n, false, nil
	case errno != 0:
		return n, false, os.NewSyscallError("ioctl SECCOMP_IOCTL_NOTIF_RECV", errno)
	}
	return n, true, nil
}

// NotifValid reports whether the task of a notification still waits in its call.
func NotifValid(listener *os.File, id uint64) (bool, error) {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(FD(listener)), ioctlNotifLive, uintptr(unsafe.Pointer(&id)))
	switch {
	case errno == unix.ENOENT:
		return false, nil
	case errno != 0:
		return false, os.NewSyscallError("ioctl SECCOMP_IOCTL_NOTIF_ID_VALID", errno)
	}
	return true, nil
}

// ContinueSyscall answers a notification with "execute the call". It is for calls that are allowed with any
// arguments: the arguments may change after the agent has read them.
func ContinueSyscall(listener *os.File, id uint64) error {
	return respond(listener, seccompResp{ID: id, Flags: notifContinue})
}

// Refuse answers a notification with an error, and the call is not executed.
func Refuse(listener *os.File, id uint64, errno unix.Errno) error {
	return respond(listener, seccompResp{ID: id, Error: -int32(errno)})
}

// Return answers a notification of a call that the agent has carried out: it succeeded, or failed with
// errno.
func Return(listener *os.File, id uint64, errno unix.Errno) error {
	return respond(listener, seccompResp{ID: id, Error: -int32(errno)})
}

// respond sends an answer. If the task has died meanwhile, that is no error.
func respond(listener *os.File, resp seccompResp) error {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(FD(listener)), ioctlNotifSend, uintptr(unsafe.Pointer(&resp)))
	if errno != 0 && !errors.Is(errno, unix.ENOENT) {
		return os.NewSyscallError("ioctl SECCOMP_IOCTL_NOTIF_SEND", errno)
	}
	return nil
}
