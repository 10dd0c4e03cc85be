package runtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/paths"
	"github.com/brig-sandbox/brig/runtime/pool"
	"github.com/brig-sandbox/brig/runtime/session"
)

// What an agent has open: its sockets and stores; for each slot what it waits with, the timer of a
// timeline and a connection; for each cell the files of a leaf group and a shell. If enough files
// may be open, a cell has a second leaf, and for a moment a second shell. It may be the cell of a companion, which
// waits with six of its own, and whose pipes have seven more. It may have packages that no other one has: a lock on
// two trees, and a child that keeps one of them in memory, with its socket, pipe, pidfd, lock and tree.
// Those that nothing uses any more are in the base (image.MaxUnusedTrees). A session has session.Files, and more
// with a volume or packages (TestFilesOfASession). An exec has a leaf and a shell more, as long as it has a slot; a leaf
// that only has processes left has none. A resident of a session is an exec, which
// waits with six files of its own, and has a connection and two pipes more. Operations on paths that run at once
// have a descriptor for each level of directories (paths.MaxOpen), and are in the base, too.
const (
	descriptorsBase       = 1024 + session.MaxPathWork*paths.MaxOpen + session.MaxSnapshotWork*2*(api.SnapshotDepthMax+4)
	descriptorsSlot       = 8
	descriptorsExec       = 40
	descriptorsSessions   = session.KeptFiles + session.MaxAhead*session.Files // of all together
	descriptorsPackages   = session.PackageFiles
	descriptorsSingleLeaf = 31 + descriptorsPackages
	descriptorsCompanion  = 6 + 7
	descriptorsCell       = 60 + descriptorsCompanion + descriptorsPackages
	descriptorsMore       = session.VolumeFiles + session.PackageFiles
	descriptorsResident   = 32
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
	residents := min(sessions*api.SessionResidents, pool.MaxResidents)
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &have); err != nil {
		return pool.Capacity{}, os.NewSyscallError("getrlimit RLIMIT_NOFILE", err)
	}

	maximum, err := openMost()
	if err != nil {
		return pool.Capacity{}, err
	}

	want := min(maximum, uint64(descriptorsBase+descriptorsSessions+
		slots*(descriptorsSlot+descriptorsExec+pool.MaxKeepers*descriptorsCell)+
		sessions*(session.Files+descriptorsMore)+residents*descriptorsResident))
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

	left := int64(have.Cur) - descriptorsBase - int64(slots*(descriptorsSlot+r.Keepers*descriptorsCell))
	divideFiles(&r, left, int64(slots), int64(sessions), int64(residents))
	return r, nil
}

// divideFiles divides the files that slots leave. Sessions get theirs first, and then what those with a volume or
// packages have more, and residents, half of the rest each if it is not enough. Where there are too many slots for an
// exec in each of them, a session has those of three execs.
func divideFiles(r *pool.Capacity, left, slots, sessions, residents int64) {
	left -= descriptorsSessions
	n := min(sessions, max((left-slots*descriptorsExec)/session.Files, left/(session.Files+3*descriptorsExec), 0))
	left = max(left-n*session.Files-min(slots, 3*n)*descriptorsExec, 0)

	more, stay := n*descriptorsMore, min(residents, n*api.SessionResidents)*descriptorsResident
	if more+stay > left {
		stay = min(stay, max(left/2, left-more))
		more = left - stay
	}
	r.Sessions, r.SessionFiles, r.Residents = int(n), int(more), int(stay/descriptorsResident)
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
