// Package procfs reads what /proc says of a process, and checks whether a cell can have its own /proc.
package procfs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Remedy says what to do if Visible returns an error.
const Remedy = "in a container: give brigd an uncovered /proc (docker run --security-opt systempaths=unconfined)"

// Visible returns nil if the kernel lets a new user namespace mount proc. The kernel does
// so only if one visible proc already shows everything: it is mounted whole and writable,
// with nothing mounted over its files (mount_too_revealing in fs/namespace.c, Linux 4.2).
// Containers cover /proc/keys and other files, so they cannot mount proc unless they are
// started with an uncovered one.
func Visible() error {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return err
	}
	return visible(mounts)
}

// emptyDirectories are the directories of proc that the kernel reserves for mounts; a
// mount on one hides nothing (proc_create_mount_point, register_sysctl_mount_point).
var emptyDirectories = []string{"sys/fs/binfmt_misc", "fs/nfsd"}

func visible(mounts []*mountinfo.Info) error {
	children := map[int][]string{}
	for _, m := range mounts {
		children[m.Parent] = append(children[m.Parent], m.Mountpoint)
	}

	var why []string
	for _, m := range mounts {
		if m.FSType != "proc" {
			continue
		}

		over := slices.DeleteFunc(children[m.ID], func(at string) bool {
			rel, err := filepath.Rel(m.Mountpoint, at)
			return err == nil && slices.Contains(emptyDirectories, rel)
		})
		slices.Sort(over)
		switch {
		case m.Root != "/": // a mount of a part of proc does not count
		case slices.Contains(strings.Split(m.Options, ","), "ro"):
			why = append(why, m.Mountpoint+" is read-only")
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
