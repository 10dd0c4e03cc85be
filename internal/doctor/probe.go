package doctor

import (
	"errors"
	"fmt"
	"math"
	"os"
	goruntime "runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/procfs"
)

func unsupported(err error) Answer { return Answer{cgroups.No, err.Error()} }
func unknown(why string) Answer    { return Answer{cgroups.Unknown, why} }

// probeResult interprets the error of a call. With arguments that can only fail, an error in proof
// shows that the kernel has the call. EPERM proves nothing: it comes before the kernel reads the
// arguments, and from a seccomp filter too.
func probeResult(err error, proof ...error) Answer {
	if err == nil {
		return Answer{State: cgroups.Yes}
	}
	for _, p := range proof {
		if errors.Is(err, p) {
			return Answer{State: cgroups.Yes}
		}
	}
	if errors.Is(err, unix.EPERM) {
		return unknown(err.Error())
	}
	return unsupported(err)
}

// cloneInto calls clone3 for a child in a group with an impossible descriptor. EBADF comes from
// the lookup of the group, before a child exists (kernel/fork.c, copy_process;
// kernel/cgroup/cgroup.c, cgroup_css_set_fork).
func cloneInto() Answer {
	args := struct {
		flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
	}{flags: unix.CLONE_INTO_CGROUP, exitSignal: uint64(unix.SIGCHLD), cgroup: math.MaxInt32}
	_, _, e := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	return probeResult(errno(e), unix.EBADF)
}

// errno returns e as an error, and nil for 0: a zero Errno in an error would not be nil.
func errno(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func seccompActions() Answer {
	for _, a := range []uint32{unix.SECCOMP_RET_KILL_PROCESS, unix.SECCOMP_RET_ERRNO, unix.SECCOMP_RET_ALLOW} {
		if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&a))); e != 0 {
			return unsupported(fmt.Errorf("seccomp action %#x: %w", a, e))
		}
	}
	return Answer{State: cgroups.Yes}
}

func seccompNotify() Answer {
	var sizes struct{ notif, resp, data uint16 }
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0,
		uintptr(unsafe.Pointer(&sizes))); e != 0 {
		return unsupported(e)
	}
	return Answer{cgroups.Yes, fmt.Sprintf("notification of %d bytes", sizes.notif)}
}

// mountAPI makes a tmpfs with limits and attaches it nowhere: closing it removes it.
func mountAPI() Answer {
	ctx, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return probeResult(err)
	}
	defer unix.Close(ctx)

	for _, o := range [][2]string{{"size", "65536"}, {"nr_inodes", "16"}, {"mode", "0755"}} {
		if err := unix.FsconfigSetString(ctx, o[0], o[1]); err != nil {
			return unsupported(fmt.Errorf("tmpfs %s: %w", o[0], err))
		}
	}

	if err := unix.FsconfigCreate(ctx); err != nil {
		return unsupported(fmt.Errorf("fsconfig: %w", err))
	}

	n, err := unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return unsupported(fmt.Errorf("fsmount: %w", err))
	}
	return probeResult(unix.Close(n))
}

func moveMount() Answer {
	return probeResult(unix.MoveMount(-1, "", -1, "",
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH), unix.EBADF)
}

// overlay opens a file system context for overlayfs and closes it. The kernel loads the module
// if it has one.
func overlay() Answer {
	ctx, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return probeResult(err)
	}
	return probeResult(unix.Close(ctx))
}

func openat2() Answer {
	n, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == nil {
		return unsupported(errors.Join(errors.New("RESOLVE_BENEATH let / through"), unix.Close(n)))
	}
	return probeResult(err, unix.EXDEV)
}

func pidfd() Answer {
	n, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return unsupported(err)
	}
	defer unix.Close(n)
	if err := unix.PidfdSendSignal(n, 0, nil, 0); err != nil {
		return unsupported(err)
	}
	return Answer{State: cgroups.Yes}
}

func closeRange() Answer {
	if err := unix.CloseRange(math.MaxInt32-1, math.MaxInt32, 0); err != nil {
		return unsupported(err)
	}
	return Answer{State: cgroups.Yes}
}

// memfd makes a sealed, executable file in memory, such as brigd starts cells from.
func memfd() Answer {
	const mfdExec = 0x10 // Linux 6.3; EINVAL before, when every memfd is executable
	n, err := unix.MemfdCreate("brig-doctor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|mfdExec)
	if errors.Is(err, unix.EINVAL) {
		n, err = unix.MemfdCreate("brig-doctor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return unsupported(err)
	}
	defer unix.Close(n)

	if _, err := unix.FcntlInt(uintptr(n), unix.F_ADD_SEALS,
		unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		return unsupported(fmt.Errorf("seal: %w", err))
	}
	return Answer{State: cgroups.Yes}
}

func ownProc() Answer {
	if err := procfs.Visible(); err != nil {
		return unsupported(err)
	}
	return Answer{State: cgroups.Yes}
}

// userNamespace makes a user namespace; for root it is mapped like that of a cell. The process
// in it is stopped before its first instruction and never runs.
func userNamespace(root bool) (Answer, *os.File) {
	const base, count = 0x7fff0000 - 65536, 65536 // ids that no slot has
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: base, Size: count}}
	if !root {
		ids = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	}

	gids := ids
	if !root {
		gids = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}

	goruntime.LockOSThread() // ptrace binds the tracer's thread
	defer goruntime.UnlockOSThread()

	p, err := os.StartProcess("/proc/self/exe", []string{"brig-doctor"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: gids, Ptrace: true, Pdeathsig: syscall.SIGKILL,
	}})
	if err != nil {
		return unsupported(err), nil
	}

	ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", p.Pid))
	killErr := p.Kill()
	_, waitErr := p.Wait()
	if err := errors.Join(err, killErr, waitErr); err != nil {
		return unsupported(err), ns
	}
	return Answer{State: cgroups.Yes}, ns
}

// idmapped copies the mount of dir without attaching the copy, and maps its ids. Closing the copy
// removes it.
func idmapped(dir string, ns *os.File) (tree, shifted Answer) {
	n, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return probeResult(err), unknown("there is no copy of a mount whose ids could be mapped")
	}
	defer unix.Close(n)
	if ns == nil {
		return Answer{State: cgroups.Yes}, unknown("there is no user namespace for the mapping of ids")
	}
	err = unix.MountSetattr(n, "", unix.AT_EMPTY_PATH,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns.Fd())})
	goruntime.KeepAlive(ns)
	return Answer{State: cgroups.Yes}, probeResult(err)
}
