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
// together get half of what there is.
func watchShares(slots int) map[string]string {
	shares := map[string]string{}
	for _, name := range []string{"max_inotify_instances", "max_inotify_watches"} {
		text, err := os.ReadFile("/proc/sys/user/" + name)
		if err != nil {
			continue // a kernel without inotify
		}
		if all, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			shares["user."+name] = strconv.Itoa(max(all/2/slots, 1))
		}
	}
	return shares
}
