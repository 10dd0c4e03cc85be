package runtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// What an agent has open: its sockets and stores; for each slot what it waits with, the timer of a
// timeline and a connection; for each cell the files of a leaf group and a shell. If enough files
// may be open, a cell has a second leaf, and for a moment a second shell. It may be the cell of a companion, which
// waits with six of its own, and whose pipes have seven more. A session has a group, a
// shell, a poller, and the leaves of its execs. Either may have packages that no other one has: a lock on
// two trees, and a child that keeps one of them in memory, with its socket, pipe, pidfd, lock and tree.
// Those that nothing uses any more are in the base (image.MaxUnusedTrees).
const (
	descriptorsBase       = 1024
	descriptorsSlot       = 8
	descriptorsPackages   = 7
	descriptorsSingleLeaf = 31 + descriptorsPackages
	descriptorsCompanion  = 6 + 7
	descriptorsCell       = 60 + descriptorsCompanion + descriptorsPackages
	descriptorsSession    = 128 + descriptorsPackages
)

// capacityFor returns what a limit on open files allows the slots, and false when it does not suffice
// for one cell with a single leaf each.
func capacityFor(limit uint64, slots int) (pool.Capacity, bool) {
	each := (int64(limit)-descriptorsBase)/int64(slots) - descriptorsSlot
	switch {
	case each >= descriptorsCell:
		return pool.Capacity{Keepers: int(min(each/descriptorsCell, pool.MaxKeepers))}, true
	case each >= descriptorsSingleLeaf:
		return pool.Capacity{Keepers: 1, SingleLeaf: true}, true
	}
	return pool.Capacity{}, false
}

// raiseFileLimit raises the limit on open files as far as the slots can use it, and returns what it
// allows: a fully used host must reach its limit on slots and not a limit on files.
func raiseFileLimit(slots, sessions int) (pool.Capacity, error) {
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &have); err != nil {
		return pool.Capacity{}, os.NewSyscallError("getrlimit RLIMIT_NOFILE", err)
	}

	maximum, err := openMost()
	if err != nil {
		return pool.Capacity{}, err
	}

	want := min(maximum, uint64(descriptorsBase+slots*(descriptorsSlot+pool.MaxKeepers*descriptorsCell)+sessions*descriptorsSession))
	if have.Cur < want {
		err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: want, Max: max(want, have.Max)})
		switch {
		case err == nil:
			have.Cur = want
		case !errors.Is(err, unix.EPERM): // root without CAP_SYS_RESOURCE, as in many containers
			return pool.Capacity{}, os.NewSyscallError("setrlimit RLIMIT_NOFILE", err)
		}
	}

	r, ok := capacityFor(have.Cur, slots)
	if !ok {
		return r, api.Refuse(api.CodeBadRequest,
			"%d slots need %d open files and the limit is %d: use fewer slots, or raise the limit (ulimit -n, LimitNOFILE=)",
			slots, descriptorsBase+slots*(descriptorsSlot+descriptorsSingleLeaf), have.Cur)
	}

	// Slots come first: sessions get the rest.
	left := int64(have.Cur) - descriptorsBase - int64(slots*(descriptorsSlot+r.Keepers*descriptorsCell))
	r.Sessions = int(min(int64(sessions), max(left/descriptorsSession, 0)))
	return r, nil
}

// openMost is the highest limit on open files that a process may have (fs.nr_open).
func openMost() (uint64, error) {
	text, err := os.ReadFile("/proc/sys/fs/nr_open")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read fs.nr_open: %w", err)
	}
	return n, nil
}
