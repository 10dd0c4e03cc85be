// Package procfs says whether a cell can have a /proc of its own.
package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cure is what to do where Visible returns an error.
const Cure = "in a container: show brigd all of /proc (docker run --security-opt systempaths=unconfined)"

// Visible returns nil where the kernel lets a new user namespace mount proc. It does
// so only if one proc that can be seen already shows everything: mounted whole and
// writable, with nothing over its files (mount_too_revealing in fs/namespace.c, Linux
// 4.2). Containers cover /proc/keys and others, and so have none unless given one.
func Visible() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	return visible(string(table))
}

// emptyDirectories are those of proc that the kernel keeps for mounts and counts as
// showing nothing (proc_create_mount_point, register_sysctl_mount_point).
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
		case m.root != "/": // a part of it shows too little
		case slices.Contains(strings.Split(m.options, ","), "ro"):
			why = append(why, m.at+" is read-only")
		case len(over) > 0:
			why = append(why, strings.Join(over, ", ")+" is mounted over")
		default:
			return nil
		}
	}
	if len(why) == 0 {
		why = []string{"no proc is mounted"}
	}
	return fmt.Errorf("%s, so the kernel lets no user namespace mount a proc of its own", strings.Join(why, ", "))
}
