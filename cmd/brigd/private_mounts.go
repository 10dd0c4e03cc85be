package main

// #include "private_mounts.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// privateMounts returns once brigd has a mount namespace of its own and executes from a sealed copy of
// itself. So a SIGKILL of the agent removes every mount of the agent, and libcontainer has a sealed
// binary to start containers from and need not seal one each time (CVE-2019-5736; FS-08).
//
// Code in C makes both before Go starts (private_mounts.c), and executes the copy: Go itself then starts
// once and not twice, which took a sixth of the agent's start. Here its failure is reported.
//
// It must be called before anything else is opened.
func privateMounts() error {
	if os.Getenv(C.PRIVATE_MOUNTS) == C.PRIVATE_MOUNTS_MADE {
		name := filepath.Base(os.Args[0]) // otherwise ps would show the descriptor number of the sealed copy
		return errors.Join(os.Unsetenv(C.PRIVATE_MOUNTS), os.WriteFile("/proc/self/comm", []byte(name), 0))
	}
	if C.brigd_failed_step != nil {
		return failedBeforeGo(C.GoString(C.brigd_failed_step), unix.Errno(C.brigd_failed_errno))
	}

	// An argument looked like one that asks for something else, such as the value of --group -help.
	const self = "/proc/self/exe"
	err := syscall.Exec(self, os.Args, append(os.Environ(), C.PRIVATE_MOUNTS+"="+C.PRIVATE_MOUNTS_WANTED))
	return &os.PathError{Op: "exec", Path: self, Err: err}
}

// failedBeforeGo is the error of a step of private_mounts.c.
func failedBeforeGo(step string, errno unix.Errno) error {
	switch {
	case step == "unshare mount namespace" && errno == unix.EPERM:
		return errors.New("unshare mount namespace: operation not permitted: the agent needs CAP_SYS_ADMIN: run it " +
			"outside a container, or in a privileged one")
	case step == "make mounts private" && errno == unix.EINVAL: // mount(2): the target is not a mount point
		return errors.New("make mounts private: / is not a mount point: the agent is in a chroot, where the kernel " +
			"allows no user namespaces: start it outside, or enter the tree with systemd-nspawn or a container")
	}
	return fmt.Errorf("%s: %w", step, errno)
}
