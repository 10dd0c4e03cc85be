package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// A capability is one without which no run works, and what the agent does with it.
type capability struct {
	number int
	name   string
	use    string
}

// needed are the capabilities of the agent, in the order of their numbers. CAP_IPC_LOCK is not here: with
// --image-memory none, or a limit on locked memory that is high enough, the agent does without (image.CheckMemlock).
// TestRecipeIsExact takes each away, and more than these are in no recipe (TestContainerRecipesGrantTheSame).
var needed = []capability{
	{unix.CAP_CHOWN, "CAP_CHOWN", "give the socket to a group, and files to runs"},
	{unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "open files of the users of cells"},
	{unix.CAP_FOWNER, "CAP_FOWNER", "set modes of files of the users of cells"},
	{unix.CAP_SETGID, "CAP_SETGID", "map the groups of a cell"},
	{unix.CAP_SETUID, "CAP_SETUID", "map the users of a cell"},
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN", "send a large message to a cell on a host with small socket buffers"},
	{unix.CAP_SYS_CHROOT, "CAP_SYS_CHROOT", "enter the mount namespace of a cell"},
	{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "open the namespaces of a cell"},
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "make namespaces and mounts"},
	{unix.CAP_MKNOD, "CAP_MKNOD", "make the devices of cells, such as /dev/null"},
}

// filtered reports whether this process has a seccomp filter, which cells inherit. status is /proc/self/status.
//
// It answers before the agent does: a call that the container's filter refuses with an error is not a call that brig
// denied, so the verdict is not denied (TestRecipeIsExact: bpf).
func filtered(status string) bool {
	for line := range strings.Lines(status) {
		if mode, is := strings.CutPrefix(line, "Seccomp:"); is {
			return strings.TrimSpace(mode) != "0"
		}
	}
	return false // a kernel without filters, on which no cell starts
}

// warnFiltered says it in the log.
func warnFiltered(log *slog.Logger) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || filtered(string(status)) {
		log.Warn("a seccomp filter of the container or the service is loaded, and answers before brig's filters: some "+
			"programs do not get the verdict denied; in a container: --security-opt seccomp=unconfined", "err", err)
	}
}

// checkCapabilities refuses to start without a capability that every run needs: otherwise the first run would say no
// more than "operation not permitted".
func checkCapabilities() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&head, &have[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	return missing(uint64(have[1].Effective)<<32 | uint64(have[0].Effective))
}

// missing names the needed capabilities that are not in a set of bits; nil: all are there.
func missing(have uint64) error {
	var lacks []string
	for _, c := range needed {
		if have&(1<<c.number) == 0 {
			lacks = append(lacks, fmt.Sprintf("%s (to %s)", c.name, c.use))
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("the agent needs %s: grant it, in a container with --cap-add; deploy/container has the whole list",
		strings.Join(lacks, ", "))
}
