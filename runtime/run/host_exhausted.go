package run

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// exhaustionErrors lists the errors that say that the host, or the agent, has run out of something, with
// what the operator can do. They concern brig's own calls only: a program that gets them has its
// own limits.
var exhaustionErrors = []struct {
	errno unix.Errno
	text  string // how runc's C code, which reports only text, writes it
	cure  string
}{
	{unix.EMFILE, "Too many open files", "the agent has reached its limit of open files: raise the limit " +
		"(LimitNOFILE=), or use fewer slots"},
	{unix.ENFILE, "Too many open files in system", "the host has reached its limit of open files: raise fs.file-max, or use fewer slots"},
	{unix.EAGAIN, "Resource temporarily unavailable",
		"the agent has reached its limit of processes: raise TasksMax=, pids.max above it or kernel.pid_max, or use fewer slots"},
	{unix.ENOMEM, "Cannot allocate memory", "the kernel has no memory for a cell: lower the load on this host, or use fewer slots"},
	{unix.ENOSPC, "No space left on device",
		"a file system or a table of the kernel is full: free space at --run-dir, or raise user.max_*_namespaces and fs.mount-max"},
}

// exhaustion turns such a failure of ours into an error with its own code and remedy; otherwise it
// returns nil. The cause, which may name paths of the host, is for the log.
func exhaustion(err error) *api.Error {
	var known *api.Error
	if err == nil || errors.As(err, &known) {
		return nil
	}
	for _, e := range exhaustionErrors {
		if errors.Is(err, e.errno) || strings.Contains(err.Error(), e.text) {
			return api.Fail(api.CodeHostExhausted, "%s; send the run again later", e.cure)
		}
	}
	return nil
}
