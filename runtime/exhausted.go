package runtime

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// exhausted are the errors that say that the host, or the agent, has nothing left
// of something, with what the operator can do. They hit brig's own calls only: a
// program that meets them has its limits.
var exhausted = []struct {
	errno unix.Errno
	text  string // how runc's C code, which only writes, spells it
	cure  string
}{
	{unix.EMFILE, "Too many open files", "the agent has as many files open as it may: raise its limit (LimitNOFILE=), or take fewer slots"},
	{unix.ENFILE, "Too many open files in system", "the host has as many files open as it may: raise fs.file-max, or take fewer slots"},
	{unix.EAGAIN, "Resource temporarily unavailable", "the agent may have no more processes: raise TasksMax=, pids.max above it or kernel.pid_max, or take fewer slots"},
	{unix.ENOMEM, "Cannot allocate memory", "the kernel has no memory for a cell: lower the load on this host, or take fewer slots"},
	{unix.ENOSPC, "No space left on device", "a file system or a table of the kernel is full: free space at --run-dir, or raise user.max_*_namespaces and fs.mount-max"},
}

// exhaustion gives a failure of ours its own code and cure when it is of that kind;
// else it is nil. The cause, which may name paths of the host, is for the log.
func exhaustion(err error) *api.Error {
	var known *api.Error
	if err == nil || errors.As(err, &known) {
		return nil
	}
	for _, e := range exhausted {
		if errors.Is(err, e.errno) || strings.Contains(err.Error(), e.text) {
			return api.Fail(api.CodeHostExhausted, "%s; send the run again later", e.cure)
		}
	}
	return nil
}
