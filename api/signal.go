package api

import (
	"slices"
	"strings"
)

// A Signal is the name of a signal that a caller may send to a program of a session, such as SIGINT.
type Signal string

// signals are those that people and tools send. A signal that the kernel alone has a reason to send, such as SIGSEGV,
// would make a result tell of a fault that the program does not have.
var signals = []Signal{"SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTERM", "SIGCONT", "SIGSTOP",
	"SIGTSTP", "SIGWINCH"}

// Signals lists the signals that can be sent.
func Signals() []Signal { return slices.Clone(signals) }

// Validate refuses a signal that cannot be sent.
func (s Signal) Validate() error {
	if slices.Contains(signals, s) {
		return nil
	}

	names := make([]string, len(signals))
	for i, one := range signals {
		names[i] = string(one)
	}
	return Refuse(CodeBadRequest, "signal %.40q cannot be sent: use one of %s", s, strings.Join(names, ", "))
}
