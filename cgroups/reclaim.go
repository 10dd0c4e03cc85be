package cgroups

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Reclaim has the kernel free what of the group's charge can be freed without its
// processes: the dentries and inodes of names that were looked up, and page cache, which
// would otherwise stay charged to the groups above when this one is removed (1,000,000
// names that do not exist are 191 MB). It takes as long as that is much: not on a run's
// way. What cannot be freed stays, and is no error.
//
// memory.reclaim since Linux 5.19; without it, nothing is done and the kernel frees when it
// has to. Version 1 has memory.force_empty, in every group.
func (l *Leaf) Reclaim() error {
	left, err := l.Current()
	for vain := 0; err == nil && left > 0 && vain < vainReclaims; {
		w := Write{"memory.force_empty", "0"}
		if l.cell.tree.layout.Unified {
			w = Write{"memory.reclaim", strconv.FormatInt(left, 10)}
		}
		err = l.write(w)
		if err == nil || errors.Is(err, ErrUnsupported) || errors.Is(err, unix.EBUSY) {
			return nil
		}
		if !errors.Is(err, unix.EAGAIN) {
			return err
		}
		time.Sleep(reclaimPause)
		before := left
		if left, err = l.Current(); left > before-before/8 {
			vain++
		}
	}
	return err
}

// EAGAIN says that not all was freed: the kernel gives up after 16 passes that free no whole
// page (mm/memcontrol.c, memory_reclaim, Linux 6.1). Names are freed only after a grace period
// of RCU, which a busy machine makes long, so that such a pass may have done much: we ask
// again after a pause, until that frees little for vainReclaims times.
const (
	reclaimPause = 20 * time.Millisecond
	vainReclaims = 4
)

// Kernel is what of the group's charge is the kernel's own objects, in bytes. Zero where
// the kernel does not tell: version 1 may be built, or booted, without it. Version 2 adds
// up what memory.stat says every two seconds, or later (mm/memcontrol.c, flush_memcg_stats_dwork):
// the charge, which is exact, less the page cache is then too much, and never too little.
func (l *Leaf) Kernel() (int64, error) {
	name := filepath.Join(l.cell.name, l.name)
	if l.cell.tree.layout.Unified {
		f, err := os.Open(filepath.Join(l.dir.Name(), "memory.stat"))
		if err != nil {
			return 0, err
		}
		defer f.Close()
		cache, err := readStat(f, "file")
		if err != nil {
			return 0, err
		}
		charged, err := l.Current()
		return max(0, charged-cache), err
	}
	for _, hy := range l.cell.tree.roots {
		if !slices.Contains(hy.Controllers, "memory") {
			continue
		}
		f, err := os.Open(filepath.Join(l.cell.tree.base(hy), l.cell.tree.name, name, "memory.kmem.usage_in_bytes"))
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return readInt(f)
	}
	return 0, nil
}

// readStat reads a key of a file that may be longer than those that every run needs.
func readStat(f *os.File, key string) (int64, error) {
	var buf [16 << 10]byte
	b, err := pread(f, buf[:])
	if err != nil {
		return 0, err
	}
	return flatKey(b, key)
}
