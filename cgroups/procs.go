package cgroups

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Pids lists the processes of the group and of the groups below it. The list may include
// processes that were created during the call.
func (l *Leaf) Pids() ([]int, error) {
	var pids []int
	root := filepath.Join(l.cell.dir(l.cell.tree.roots[0]), l.name)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a group below has just been removed
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		}
		text, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			pid, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				return err
			}
			pids = append(pids, pid)
		}
		return nil
	})
	return pids, err
}
