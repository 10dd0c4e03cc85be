package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep removes the groups that a dead agent recorded, and kills the processes inside.
// It refuses every path that is not a control group named brig-*, so a damaged record
// does no harm. A path that no longer exists is no error. The leaf brig-agent is
// removed only when empty: another agent may live in it.
func Sweep(paths []string) error {
	var errs []error
	for _, p := range paths {
		if err := checkSweepPath(p); err != nil {
			errs = append(errs, err)
			continue
		}
		if filepath.Base(p) == agentLeaf {
			if err := unix.Rmdir(p); err != nil && err != unix.EBUSY && err != unix.ENOENT {
				errs = append(errs, &fs.PathError{Op: "rmdir", Path: p, Err: err})
			}
			continue
		}
		errs = append(errs, sweep(p))
	}

	return errors.Join(errs...)
}

// checkSweepPath decides whether a recorded path may be removed.
func checkSweepPath(p string) error {
	name := filepath.Base(p)
	if !filepath.IsAbs(p) || filepath.Clean(p) != p || !strings.HasPrefix(name, prefix) ||
		checkName(strings.TrimPrefix(name, prefix)) != nil {
		return fmt.Errorf("sweep %q: not the path of a group named %s*: left alone", p, prefix)
	}
	return nil
}

// sweep removes one group and all groups below it, and kills their processes.
func sweep(dir string) error {
	var st unix.Statfs_t
	fd, err := openDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	defer fd.Close()

	if err := unix.Fstatfs(int(fd.Fd()), &st); err != nil {
		return fmt.Errorf("sweep %s: %w", dir, err)
	}
	if st.Type != unix.CGROUP_SUPER_MAGIC && st.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("sweep %s: not a control group: left alone", dir)
	}
	return removeAll(dir)
}

// removeAll works bottom up. Control group directories hold only directories and
// the kernel's files, which rmdir removes, too.
func removeAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	for _, e := range entries {
		if e.IsDir() {
			if err := removeAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}

	return rmdir(dir)
}

// rmdir removes one group and kills the processes that keep it busy. Killed processes
// need a moment to exit: it retries for about two seconds, then returns an error that
// names the group.
func rmdir(dir string) error {
	wait := time.Millisecond
	for {
		err := unix.Rmdir(dir)
		if err == nil || err == unix.ENOENT {
			return nil
		}
		if err != unix.EBUSY || wait > time.Second {
			return &fs.PathError{Op: "rmdir", Path: dir, Err: err}
		}
		if err := killGroup(dir); err != nil {
			return fmt.Errorf("kill in %s: %w", dir, err)
		}
		time.Sleep(wait)
		wait *= 2
	}
}

// killGroup kills every process in a group. It refuses a group that contains this
// process.
func killGroup(dir string) error {
	f, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()

	pids, err := readPids(f)
	if err != nil {
		return err
	}
	if slices.Contains(pids, os.Getpid()) {
		return errors.New("this process is in it")
	}
	if len(pids) == 0 {
		return nil
	}

	err = putPath(filepath.Join(dir, "cgroup.kill"), "1")
	if !errors.Is(err, fs.ErrNotExist) { // version 1 has no cgroup.kill
		return err
	}

	err = putPath(filepath.Join(dir, "pids.max"), "0") // no forks from here on
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // only in the pids hierarchy
		return err
	}
	return killAll(f)
}

// killAll kills the processes listed in an open cgroup.procs one by one. It opens a
// pidfd for each and looks the pid up in the list again before it sends the signal, so
// that a pid reused by the kernel hits no other process.
func killAll(procs *os.File) error {
	pids, err := readPids(procs)
	if err != nil {
		return err
	}

	var errs []error
	for _, pid := range pids {
		if pid == os.Getpid() {
			errs = append(errs, errors.New("this process is in the group"))
			continue
		}

		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("open pidfd of %d: %w", pid, err))
			continue
		}

		still, err := readPids(procs)
		if err == nil && slices.Contains(still, pid) {
			err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("kill %d: %w", pid, err))
		}

		unix.Close(fd)
	}

	return errors.Join(errs...)
}

// readPids reads cgroup.procs. A 0 stands for a process outside our pid namespace, which
// cannot be signaled from here; it is left out.
func readPids(f *os.File) ([]int, error) {
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}

	var b strings.Builder
	if _, err := f.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}

	var pids []int
	for _, w := range strings.Fields(b.String()) {
		pid, err := strconv.Atoi(w)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		if pid > 0 {
			pids = append(pids, pid)
		}
	}

	return pids, nil
}
