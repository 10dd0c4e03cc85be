package archive

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nobody is the uid and gid of the admission child after confine.
const nobody = 65534

// confine takes everything from the calling process except its open descriptors 0, 1 and 2.
// Afterwards the process has an empty root directory, runs as nobody without capabilities, cannot
// create a file or a process, and may only make the system calls in childCalls. The parent has
// already made the namespaces. confine cannot be undone.
//
// It expects an empty directory as descriptor 3.
func confine(b Bounds) error {
	open, err := openDescriptors()
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	if err := unix.Fchdir(3); err != nil {
		return fmt.Errorf("enter empty root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}

	for _, fd := range open {
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("close descriptor %d: %w", fd, err)
		}
	}

	// Setgid and Setuid change every thread; leaving uid 0 of the child's user
	// namespace clears all capability sets (capabilities(7)).
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("setgroups: %w", err)
	}
	if err := syscall.Setgid(nobody); err != nil {
		return fmt.Errorf("setgid: %w", err)
	}
	if err := syscall.Setuid(nobody); err != nil {
		return fmt.Errorf("setuid: %w", err)
	}

	for _, l := range childLimits(b) {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}

	// A soft limit below the hard one, so that the garbage collector runs in time.
	debug.SetMemoryLimit(childMemory / 2)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl dumpable: %w", err)
	}
	return loadFilter(childFilter())
}

// openDescriptors lists the open descriptors above 2, except those of the Go runtime's poller,
// which give no access to anything. The list includes the runtime's handles on the processor
// limits: with GOMAXPROCS set, the runtime never reads them.
func openDescriptors() ([]int, error) {
	dir, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)

	var fds []int
	buf, to := make([]byte, 1<<14), make([]byte, 64)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if n <= 0 || err != nil {
			return fds, err
		}

		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			fd, err := strconv.Atoi(name)
			if err != nil || fd <= 2 || fd == dir {
				continue
			}
			n, err := unix.Readlink("/proc/self/fd/"+name, to)
			if err == nil && !strings.HasPrefix(string(to[:n]), "anon_inode:[event") {
				fds = append(fds, fd)
			}
		}
	}
}

// childMemory limits the memory that the child may map for writing. It is well above twice the
// largest window.
const childMemory = 1 << 30

type rlimit struct {
	name     string
	resource int
	max      uint64
}

func childLimits(b Bounds) []rlimit {
	limits := []rlimit{
		{"fsize", unix.RLIMIT_FSIZE, 0},
		{"core", unix.RLIMIT_CORE, 0},
		{"nofile", unix.RLIMIT_NOFILE, 16}, // the Go runtime's poller opens a few
		{"nproc", unix.RLIMIT_NPROC, 64},   // threads; the filter forbids processes
		{"msgqueue", unix.RLIMIT_MSGQUEUE, 0},
		{"memlock", unix.RLIMIT_MEMLOCK, 0},
		{"cpu", unix.RLIMIT_CPU, uint64(b.Time.Seconds()) + 1},
	}

	if !raceDetector { // the race detector's shadow memory exceeds any sensible limit
		limits = append(limits, rlimit{"data", unix.RLIMIT_DATA, childMemory})
	}
	return limits
}

// AdmitArg is the only argument of the admission child.
const AdmitArg = "admit"

// AdmitMain is the main function of the admission child. brigd calls it when it is started as
// "brigd admit"; a test binary that imports images calls it from its TestMain. It confines the
// process, then turns the archive on in into a canonical stream on out, and returns the exit
// status. It must be called before anything else starts goroutines or opens descriptors.
func AdmitMain(in, out *os.File) int {
	k, b, err := boundsFromEnv()
	if err == nil {
		err = confine(b)
	}
	if err != nil {
		return report(&refusal{kind: kindInternal, reason: "confine: " + err.Error()})
	}

	w := newStreamWriter(out)
	if err := admit(in, w, k, b); err != nil {
		return report(err)
	}
	if err := w.Flush(); err != nil {
		return report(err)
	}
	return 0
}
