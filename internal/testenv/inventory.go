package testenv

import (
	"bufio"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/procfs"
)

// CleanHost records everything that a sandbox could leave on a host and fails the test if
// anything was added when it ends. It does not look for names of ours: anything new is a
// leak. Call it before anything is created. Tests that overlap, because they run in
// parallel or because one has two agents, are compared as one: the host is recorded before
// the first and compared after the last, which fails for all of them. So objects that one
// agent prepares in the background are not taken for a leak of another.
func CleanHost(t testing.TB) {
	t.Helper()
	overlap.Lock()
	defer overlap.Unlock()

	if overlap.tests == 0 {
		if err := os.Setenv(mark, strconv.Itoa(os.Getpid())); err != nil {
			t.Fatal(err)
		}
		overlap.before = Inventory()
	}

	overlap.tests++
	t.Cleanup(func() {
		overlap.Lock()
		defer overlap.Unlock()
		if overlap.tests--; overlap.tests == 0 {
			checkUnchanged(t, overlap.before)
		}
	})
}

var overlap struct {
	sync.Mutex
	tests  int            // guarded by the mutex: tests that have begun and not ended
	before map[string]int // guarded by the mutex: inventory before the first of them
}

// checkUnchanged fails the test if anything is new on the host. It waits for objects that end
// asynchronously: the kernel frees groups and namespaces on work queues.
func checkUnchanged(t testing.TB, before map[string]int) {
	t.Helper()
	var added []string
	wait := 10 * time.Millisecond
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(wait) {
		wait = min(2*wait, 250*time.Millisecond) // an inventory costs processor time that other tests need
		runtime.GC()                             // which closes the pipes that package net keeps for the next splice(2)
		if added = Added(before, Inventory()); len(added) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	t.Errorf("the host is not as before; new on it:\n  %s", strings.Join(added, "\n  "))
}

// Added lists the items of after that are not in before, sorted. Counts are compared per
// item: a second mount at the same place is an addition.
func Added(before, after map[string]int) []string {
	var out []string
	for _, item := range slices.Sorted(maps.Keys(after)) {
		if n := after[item] - before[item]; n > 0 {
			out = append(out, fmt.Sprintf("%s (%d more)", item, n))
		}
	}
	return out
}

// Inventory counts the host's control groups, mounts, processes, keys, IPC
// objects, loop devices and the owners of device files, our own descriptors, and the entries of directories
// for temporary files.
func Inventory() map[string]int {
	inv := map[string]int{}
	for _, take := range []func(map[string]int){Groups, Mounts, processes, tables, loops, devices,
		Descriptors, directories} {
		take(inv)
	}
	return inv
}

// Groups counts the control groups of the host for an inventory. It leaves out the siblings of this process's own
// group and of the groups above it: they are other services of the machine, which are created and removed at any
// time. brig stays below its own group.
func Groups(inv map[string]int) {
	membership, _ := os.ReadFile("/proc/self/cgroup")
	table, _ := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	own := ownGroups(string(membership), table)
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if foreign(path, own) {
			return fs.SkipDir
		}
		inv["cgroup "+path]++
		return nil
	})
}

// foreign reports whether a group is next to one of own, or to a group above it.
func foreign(path string, own []ownGroup) bool {
	for _, g := range own {
		below, err := filepath.Rel(g.mount, path)
		if err != nil || below == "." || strings.HasPrefix(below, "..") {
			continue // of another hierarchy
		}
		if path != g.dir && !strings.HasPrefix(path, g.dir+"/") && !strings.HasPrefix(g.dir, path+"/") {
			return true
		}
	}
	return false
}

// An ownGroup is a directory of a group that this process is in, below where its hierarchy is mounted.
type ownGroup struct{ mount, dir string }

// ownGroups finds the directories of the groups that a process is in, except root groups,
// from its /proc/self/cgroup and the mounts of types cgroup and cgroup2.
func ownGroups(membership string, table []*mountinfo.Info) []ownGroup {
	var own []ownGroup
	for _, mount := range table {
		for line := range strings.Lines(membership) {
			m := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(m) < 3 || m[2] == "/" {
				continue
			}
			of := mount.FSType == "cgroup2" && m[1] == ""
			if mount.FSType == "cgroup" && m[1] != "" {
				of = slices.Contains(strings.Split(mount.VFSOptions, ","), strings.Split(m[1], ",")[0])
			}
			if of {
				dir := filepath.Join(mount.Mountpoint, strings.TrimPrefix(m[2], strings.TrimSuffix(mount.Root, "/")))
				own = append(own, ownGroup{mount: mount.Mountpoint, dir: dir})
			}
		}
	}

	return own
}

// Mounts counts the mounts of this process's namespace for an inventory.
func Mounts(inv map[string]int) {
	all, _ := mountinfo.GetMounts(nil)
	for _, m := range all {
		inv["mount "+m.Mountpoint]++
	}
}

// processes leaves out kernel threads, which the kernel starts and ends at any time, and
// processes that are not ours. An item contains the pid, so that a new process is seen.
func processes(inv map[string]int) {
	all, _ := procfs.Processes()
	orphans := map[int]bool{} // whether a topmost ancestor is one of ours
	for pid, s := range all {
		if s.Parent != 2 && pid != 2 && ours(all, orphans, pid) { // 2 is kthreadd
			inv[fmt.Sprintf("process %d %s", pid, s.Name)]++
		}
	}
}

// ours reports whether a process descends from this one, or is an orphan that once
// did: it has this process's mark in its environment, or is in another user
// namespace, as a cell's processes are. Other processes on the machine do not count.
func ours(all map[int]procfs.Stat, orphans map[int]bool, pid int) bool {
	for me := os.Getpid(); pid != me; {
		parent := all[pid].Parent
		if _, lives := all[parent]; parent > 1 && lives {
			pid = parent
			continue
		}

		orphan, known := orphans[pid] // the topmost ancestor decides for all of its descendants
		if !known {
			orphan = orphanOfOurs(pid)
			orphans[pid] = orphan
		}
		return orphan
	}

	return true
}

const mark = "BRIG_TEST_INVENTORY"

func orphanOfOurs(pid int) bool {
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if strings.Contains(string(environ), mark+"="+strconv.Itoa(os.Getpid())) {
		return true
	}
	mine, _ := os.Readlink("/proc/self/ns/user")
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	return err == nil && its != mine
}

// tables counts kernel objects listed in /proc, one per line.
func tables(inv map[string]int) {
	for _, path := range []string{"/proc/sysvipc/msg", "/proc/sysvipc/sem", "/proc/sysvipc/shm"} {
		for line := range lines(path) {
			inv[path+" "+line]++
		}
	}

	for line := range lines("/proc/keys") {
		// serial flags usage expiry perm uid gid type description: the first fields change. .user_reg is the
		// register of a user namespace, of any agent on the machine, and ends with it: processes and mounts
		// show one of ours that is left.
		if f := strings.Fields(line); len(f) > 8 && f[7] == "keyring" && f[8] != ".user_reg:" {
			inv["key "+f[5]+" "+strings.Join(f[8:], " ")]++
		}
	}
}

// loops leaves out devices on files that are not visible here: they belong to processes
// with another /var/tmp. A removed file is marked as deleted, and may be ours.
func loops(inv map[string]int) {
	entries, _ := os.ReadDir("/sys/block")
	for _, e := range entries {
		back, err := os.ReadFile(filepath.Join("/sys/block", e.Name(), "loop/backing_file"))
		if err != nil {
			continue
		}
		file := strings.TrimSpace(string(back))
		if _, err := os.Lstat(file); err == nil || strings.HasSuffix(file, " (deleted)") {
			inv["loop "+e.Name()+" "+file]++
		}
	}
}

// devices are the owners and modes of the host's device files that everybody uses: runc 1.1.5 gave /dev/null to the
// user of a container.
func devices(inv map[string]int) {
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"} {
		var st unix.Stat_t
		if err := unix.Stat("/dev/"+name, &st); err == nil {
			inv[fmt.Sprintf("device /dev/%s of %d:%d, mode %o", name, st.Uid, st.Gid, st.Mode&0o7777)]++
		}
	}
}

// Descriptors counts our own descriptors by kind for an inventory: numbers may change, but the count of each
// kind must not grow.
func Descriptors(inv map[string]int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			kind, _, _ := strings.Cut(to, ":[")
			inv["descriptor "+kind]++
		}
	}
}

func directories(inv map[string]int) {
	for _, dir := range []string{"/run", "/run/brig", "/dev/shm", "/var/lib/brig", "/var/lib/brig/images"} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if path != "/run/mount" && path != "/run/systemd" { // mount(8) and systemd-analyze make them at their first call
				inv["file "+path]++
			}
		}
	}
}

func lines(path string) func(func(string) bool) {
	return func(yield func(string) bool) {
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if !yield(s.Text()) {
				return
			}
		}
	}
}
