// Package procfs checks whether a cell can have its own /proc.
package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Remedy says what to do if Visible returns an error.
const Remedy = "in a container: give brigd an uncovered /proc (docker run --security-opt systempaths=unconfined)"

// Visible returns nil if the kernel lets a new user namespace mount proc. The kernel does
// so only if one visible proc already shows everything: it is mounted whole and writable,
// with nothing mounted over its files (mount_too_revealing in fs/namespace.c, Linux 4.2).
// Containers cover /proc/keys and other files, so they cannot mount proc unless they are
// started with an uncovered one.
func Visible() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	return visible(string(table))
}

// emptyDirectories are the directories of proc that the kernel reserves for mounts; a
// mount on one hides nothing (proc_create_mount_point, register_sysctl_mount_point).
var emptyDirectories = []string{"sys/fs/binfmt_misc", "fs/nfsd"}

func visible(table string) error {
	type mount struct{ id, root, at, kind, options string }
	var mounts []mount
	children := map[string][]string{}
	for line := range strings.Lines(table) {
		left, right, _ := strings.Cut(strings.TrimSpace(line), " - ")
		f, kind := strings.Fields(left), strings.Fields(right)
		if len(f) < 6 || len(kind) < 1 {
			continue
		}
		mounts = append(mounts, mount{f[0], f[3], f[4], kind[0], f[5]})
		children[f[1]] = append(children[f[1]], f[4])
	}
	var why []string
	for _, m := range mounts {
		if m.kind != "proc" {
			continue
		}
		over := slices.DeleteFunc(children[m.id], func(at string) bool {
			rel, err := filepath.Rel(m.at, at)
			return err == nil && slices.Contains(emptyDirectories, rel)
		})
		slices.Sort(over)
		switch {
		case m.root != "/": // a mount of a part of proc does not count
		case slices.Contains(strings.Split(m.options, ","), "ro"):
			why = append(why, m.at+" is read-only")
		case len(over) > 0:
			why = append(why, strings.Join(over, ", ")+" is covered by a mount")
		default:
			return nil
		}
	}
	if len(why) == 0 {
		why = []string{"no proc is mounted"}
	}
	return fmt.Errorf("%s, so the kernel does not let a user namespace mount its own proc", strings.Join(why, ", "))
}
