package cell

import (
	"os"
	"strconv"
	"strings"
)

// inotifyShares returns limits of a cell's user namespace on inotify and fanotify. The kernel counts
// these objects there and once more for the user that made the namespace (kernel/ucount.c,
// inc_ucount): for cells that is always the agent's user. Without the limits one run whose profile
// allows inotify could take all instances of the host's root, and neither another run nor the host
// would get one (PID-14). All slots together get half of what there is, and all sessions a quarter:
// each of the number gets an equal share of the total divided by part.
//
// fanotify has such counts too (Linux 5.13, where users may have it).
func inotifyShares(part, number int) map[string]string {
	shares := map[string]string{}
	for _, name := range []string{"max_inotify_instances", "max_inotify_watches", "max_fanotify_groups",
		"max_fanotify_marks"} {
		text, err := os.ReadFile("/proc/sys/user/" + name)
		if err != nil {
			continue // a kernel without it
		}
		if all, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			shares["user."+name] = strconv.Itoa(max(all/part/number, 1))
		}
	}
	return shares
}

// noInotify sets the same limits to zero, for cells whose filter denies the calls anyway. So even
// without the filter a run cannot use them to see which of the image's files its neighbours use
// (FS-26).
func noInotify(shares map[string]string) map[string]string {
	none := map[string]string{}
	for name := range shares {
		none[name] = "0"
	}
	return none
}
