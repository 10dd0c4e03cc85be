package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// privateEnv marks a re-executed agent as the second one. It is an environment variable because
// libcontainer reads arguments.
const privateEnv = "BRIG_PRIVATE_MOUNTS"

// PrivateMounts re-executes the calling program once, in a mount namespace of its own and from a
// sealed copy of itself, and returns in the second process image. After it, a SIGKILL of the agent
// removes every mount of the agent, and libcontainer has a sealed binary to start containers from
// and need not seal one each time (CVE-2019-5736).
//
// It must be called before anything else is opened.
func PrivateMounts() error {
	if os.Getenv(privateEnv) != "" {
		name := filepath.Base(os.Args[0]) // otherwise ps would show the descriptor number of the sealed copy
		return errors.Join(os.Unsetenv(privateEnv), os.WriteFile("/proc/self/comm", []byte(name), 0))
	}

	// Unshare binds one thread; exec makes it the process.
	goruntime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); errors.Is(err, unix.EPERM) {
		return errors.New("unshare mount namespace: operation not permitted: the agent needs CAP_SYS_ADMIN: run it " +
			"outside a container, or in a privileged one")
	} else if err != nil {
		return os.NewSyscallError("unshare mount namespace", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("make mounts private", err)
	}

	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}

	sealed, err := linux.SealedCopy("brigd", self, true)
	if err != nil {
		return errors.Join(err, self.Close())
	}

	path := fmt.Sprintf("/proc/self/fd/%d", linux.FD(sealed))
	err = syscall.Exec(path, os.Args, append(os.Environ(), privateEnv+"=1"))
	return &os.PathError{Op: "exec", Path: "sealed copy of " + os.Args[0], Err: err}
}
