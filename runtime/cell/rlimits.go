package cell

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/plan"
)

// rlimitNumbers are the kernel's numbers of the resource limits that brig sets (getrlimit(2)).
var rlimitNumbers = map[string]int{
	"RLIMIT_AS": unix.RLIMIT_AS, "RLIMIT_DATA": unix.RLIMIT_DATA,
	"RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK,
	"RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE, "RLIMIT_NICE": unix.RLIMIT_NICE,
	"RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO, "RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
	"RLIMIT_NOFILE": unix.RLIMIT_NOFILE, "RLIMIT_STACK": unix.RLIMIT_STACK,
	"RLIMIT_FSIZE": unix.RLIMIT_FSIZE, "RLIMIT_CPU": unix.RLIMIT_CPU,
}

// rlimitNumber returns the number of a resource limit.
func rlimitNumber(name string) (int, error) {
	n, ok := rlimitNumbers[name]
	if !ok {
		return 0, fmt.Errorf("BUG: resource limit %s is not one that brig sets", name)
	}
	return n, nil
}

// wireLimits are the limits of a run as its shell reads them.
func wireLimits(limits []plan.RLimit) ([]wireLimit, error) {
	var out []wireLimit
	for _, l := range limits {
		n, err := rlimitNumber(l.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, wireLimit{Resource: uint32(n), Soft: l.Value, Hard: l.Value})
	}
	return out, nil
}
