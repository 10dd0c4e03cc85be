package runtime

import (
	"os"
	"strconv"
	"strings"
)

// watchShares are limits of a cell's user namespace on what the kernel counts there
// and again for who made the namespace (kernel/ucount.c, inc_ucount): for us, in every
// cell. Without them one run whose profile has inotify could take all instances of the
// host's root, and neither another run nor the host would get one (PID-14). All slots
// together get half of what there is, and all sessions a quarter: each of the number
// gets a share of what is divided by part.
//
// fanotify has such counts too (Linux 5.13, where users may have it).
func watchShares(part, number int) map[string]string {
	shares := map[string]string{}
	for _, name := range []string{"max_inotify_instances", "max_inotify_watches", "max_fanotify_groups", "max_fanotify_marks"} {
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

// noWatches are the same limits at nothing: for cells whose filter denies the calls
// anyway, so that without it a run still could not see by them which of the image's
// files its neighbours use (FS-26).
func noWatches(shares map[string]string) map[string]string {
	none := map[string]string{}
	for name := range shares {
		none[name] = "0"
	}
	return none
}
