package runtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// What an agent has open: its sockets and stores; for each slot what it waits
// with and a connection; for each cell the files of a leaf group and a shell. A
// roomy cell has a second leaf, and a second shell for a moment. A session has a
// group, a shell, a poller, and the leaves of its execs.
const (
	descriptorsBase    = 1024
	descriptorsSlot    = 7
	descriptorsLean    = 31
	descriptorsCell    = 60
	descriptorsSession = 128
)

// A room says how many cells an agent can keep with the files it may open.
type room struct {
	berths   int  // cells a slot keeps
	lean     bool // each has but one leaf and one shell at a time
	sessions int  // that may live
}

// roomFor decides what limit on open files allows the slots, and false when it is
// not even one lean cell each.
func roomFor(limit uint64, slots int) (room, bool) {
	each := (int64(limit)-descriptorsBase)/int64(slots) - descriptorsSlot
	switch {
	case each >= descriptorsCell:
		return room{berths: int(min(each/descriptorsCell, maxBerths))}, true
	case each >= descriptorsLean:
		return room{berths: 1, lean: true}, true
	}
	return room{}, false
}

// makeRoom raises the limit on open files as far as the slots can use, and tells
// what it allows: a full host shall meet its limit on slots and not one on files.
func makeRoom(slots, sessions int) (room, error) {
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &have); err != nil {
		return room{}, os.NewSyscallError("getrlimit RLIMIT_NOFILE", err)
	}
	most, err := openMost()
	if err != nil {
		return room{}, err
	}
	want := min(most, uint64(descriptorsBase+slots*(descriptorsSlot+maxBerths*descriptorsCell)+sessions*descriptorsSession))
	if have.Cur < want {
		err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: want, Max: max(want, have.Max)})
		switch {
		case err == nil:
			have.Cur = want
		case !errors.Is(err, unix.EPERM): // root without CAP_SYS_RESOURCE, as in many containers
			return room{}, os.NewSyscallError("setrlimit RLIMIT_NOFILE", err)
		}
	}
	r, ok := roomFor(have.Cur, slots)
	if !ok {
		return r, api.Refuse(api.CodeBadRequest, "%d slots need %d open files and the limit is %d: take fewer slots, or raise it (ulimit -n, LimitNOFILE=)",
			slots, descriptorsBase+slots*(descriptorsSlot+descriptorsLean), have.Cur)
	}
	// Slots come first: sessions have what those leave.
	left := int64(have.Cur) - descriptorsBase - int64(slots*(descriptorsSlot+r.berths*descriptorsCell))
	r.sessions = int(min(int64(sessions), max(left/descriptorsSession, 0)))
	return r, nil
}

// openMost is the most open files a process may be allowed (fs.nr_open).
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
