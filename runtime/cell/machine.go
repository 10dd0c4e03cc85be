package cell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/mount"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A machine is what the programs of a cell read in /proc of the machine: files on a tmpfs of the cell's own, which
// its shells bind over those of the kernel (own_proc in shell.c). They have the processors and the memory of the
// run, and nothing that changes while it runs: so nothing of a neighbour (PRC-10).
type machine struct {
	mu    sync.Mutex
	root  *os.File // writable; the cell has a read-only bind of it
	host  hostMachine
	shown shownMachine
}

// shownMachine is what the files say.
type shownMachine struct {
	cpus         string // as a kernel list; empty: all
	memory, swap api.Size
}

// A hostMachine is what the files have of the host, as it was when the agent started.
type hostMachine struct {
	cpuinfo string // the kernel's
	boot    string // when the host was started, in seconds since 1970: btime in the kernel's stat
	cpus    []int  // the agent's processors
}

func readHostMachine(cpus []int) (hostMachine, error) {
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return hostMachine{}, err
	}

	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return hostMachine{}, err
	}

	_, rest, ok := strings.Cut(string(stat), "\nbtime ")
	if !ok {
		return hostMachine{}, errors.New("/proc/stat has no btime")
	}

	boot, _, _ := strings.Cut(rest, "\n")
	return hostMachine{string(cpuinfo), boot, cpus}, nil
}

// newMachine makes the files and mounts them on dir.
func newMachine(dir string, host hostMachine) (_ *machine, err error) {
	root, err := mount.NewTmpfs(mount.AttrScratch, [2]string{"size", "1m"}, [2]string{"nr_inodes", "8"},
		[2]string{"mode", "0755"})
	if err != nil {
		return nil, err
	}

	m := &machine{root: root, host: host}
	undo := rollback.On(&err)
	defer undo.Run()

	undo.Add(root.Close)

	if err := m.write(shownMachine{}); err != nil {
		return nil, err
	}
	if err := mount.MoveMount(root, dir); err != nil { // a copy of it, read-only, cannot be made before Linux 6.15
		return nil, err
	}

	undo.Release()
	return m, nil
}

// show makes the files say what a run has. It writes only if that differs from what the last run had, which has
// ended. In a session the latest exec decides.
func (m *machine) show(cpus string, l api.Limits) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	want := shownMachine{cpus, l.Memory, l.Swap}
	var err error
	if want != m.shown {
		err = m.write(want)
	}
	if err := errors.Join(err, m.forgetTimes()); err != nil {
		return fmt.Errorf("files of /proc: %w", err)
	}
	return nil
}

// forgetTimes sets the times of the files, the last change to now: they would tell when a run before this one began,
// of any key, what it read, and by that whether it had the same limits (TestHostileTimesOfTheMachine, PRC-10).
func (m *machine) forgetTimes() error {
	var errs []error
	for _, name := range machineFiles {
		errs = append(errs, unix.UtimesNanoAt(linux.FD(m.root), name, make([]unix.Timespec, 2), unix.AT_SYMLINK_NOFOLLOW))
	}
	return errors.Join(errs...)
}

var machineFiles = [...]string{"cpuinfo", "stat", "meminfo", "loadavg"}

func (m *machine) write(want shownMachine) error {
	cpus := m.host.cpus
	if want.cpus != "" {
		var err error
		if cpus, err = plan.ParseCPUs(want.cpus); err != nil {
			return err
		}
	}

	texts := [len(machineFiles)]string{
		cpuinfoText(m.host.cpuinfo, cpus),
		statText(cpus, m.host.boot),
		meminfoText(want.memory, want.swap),
		"0.00 0.00 0.00 1/1 2\n",
	}
	for i, name := range machineFiles {
		if err := m.writeFile(name, texts[i]); err != nil {
			return err
		}
	}

	m.shown = want
	return nil
}

// writeFile replaces the content of a file, which keeps its inode: shells have bound it.
func (m *machine) writeFile(name, text string) error {
	fd, err := unix.Openat(linux.FD(m.root), name,
		unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o444) // the umask does not apply here
	}
	return errors.Join(err, f.Close())
}

// machineDir is where the machine's files are mounted in our mount namespace.
func (c *Cell) machineDir() string { return filepath.Join(c.dir, "machine") }

func (c *Cell) closeMachine() error {
	return errors.Join(unix.Unmount(c.machineDir(), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW), c.machine.root.Close())
}

// ShowMachine makes /proc of the next program show the processors and the memory that it has. cpus is a kernel list;
// empty: all of the agent's.
func (c *Cell) ShowMachine(cpus string, l api.Limits) error { return c.machine.show(cpus, l) }
