package execsocket

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// Cause says in a line, without its end, what of brig ended a program, and the cure; empty: it ended by itself or by a
// signal. A client of Kubernetes shows the exit code alone.
func Cause(res api.Result) string {
	l, larger := res.Limits, func(limit string) string {
		return "create the session with a larger exec_limits." + limit
	}
	switch res.Verdict {
	case api.OutputLimit:
		return fmt.Sprintf("brig: %s: it wrote more than %s to one stream: %s", res.Verdict, l.Output, larger("output"))
	case api.WallLimit:
		return fmt.Sprintf("brig: %s: it ran for longer than %s: %s", res.Verdict, l.Wall, larger("wall"))
	case api.CPULimit:
		return fmt.Sprintf("brig: %s: it used more than %s of processor time: %s", res.Verdict, l.CPU, larger("cpu"))
	case api.MemoryLimit:
		return fmt.Sprintf("brig: %s: it wanted more than %s of memory: %s", res.Verdict, l.Memory, larger("memory"))
	case api.Denied:
		if res.Denial != nil {
			return fmt.Sprintf("brig: %s: the profile forbids the system call %s: %s", res.Verdict, res.Denial.Syscall, res.Denial.Why)
		}
	case api.Canceled:
		if res.SessionEnded != "" {
			return fmt.Sprintf("brig: %s: the session has ended: %s", res.Verdict, res.SessionEnded)
		}
	default:
		return ""
	}
	return fmt.Sprintf("brig: %s", res.Verdict)
}
