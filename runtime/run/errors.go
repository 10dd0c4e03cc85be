package run

import (
	"errors"
	"log/slog"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// isUserError reports whether the caller, or the program's author, can fix the cause of an error. Such
// an error says nothing bad about the cell.
func isUserError(err error) bool {
	var e *api.Error
	var artifact *plan.InvalidArtifact
	var source *plan.InvalidSource
	return errors.As(err, &artifact) || errors.As(err, &source) || errors.As(err, &e) && !e.RetrySafe
}

// ToAPIError converts an error to an API error with a code, and logs the details that the caller
// does not get.
func ToAPIError(log *slog.Logger, err error, run string) *api.Error {
	if short := exhaustion(err); short != nil {
		log.Error("the host is exhausted", "run", run, "err", err)
		err = short
	}
	return APIError(err, run)
}

// APIError gives every failure a stable code. An error without a code is an internal one.
func APIError(err error, run string) *api.Error {
	var e *api.Error
	if errors.As(err, &e) {
		out := *e
		out.Run = run
		return &out
	}
	if errors.Is(err, cgroups.ErrUnsupported) { // the request has a limit that this host cannot apply
		out := api.Refuse(api.CodeUnsupported, "%w: leave that limit out, or have the operator switch it on", err)
		out.Run = run
		return out
	}

	out := api.Fail(api.CodeInternal, "%w", err)
	out.Run = run
	return out
}

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
