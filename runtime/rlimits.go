package runtime

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// rlimitNumber translates OCI's name of a resource limit.
func rlimitNumber(name string) (int, error) {
	n, ok := map[string]int{
		"RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK,
		"RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE, "RLIMIT_NICE": unix.RLIMIT_NICE,
		"RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO, "RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
	}[name]
	if !ok {
		return 0, fmt.Errorf("BUG: resource limit %s is not one a cell sets", name)
	}
	return n, nil
}
