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

// Reclaim makes the kernel free the part of the group's charge that does not depend on its
// processes: the dentries and inodes of names that were looked up, and page cache. These
// would otherwise stay charged to the groups above when this one is removed (1,000,000
// names that do not exist are 191 MB). The time it takes grows with the amount: do not call
// it on the path of a run. Memory that cannot be freed stays charged, which is no error.
//
// memory.reclaim exists since Linux 5.19; without it Reclaim does nothing and the kernel
// frees memory when it has to. Version 1 has memory.force_empty, in every group.
func (l *Leaf) Reclaim() error {
	left, err := l.Current()
	for fruitless := 0; err == nil && left > 0 && fruitless < maxFruitlessReclaims; {
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
			fruitless++
		}
	}

	return err
}

// EAGAIN says that not everything was freed: the kernel gives up after 16 passes that free no
// whole page (mm/memcontrol.c, memory_reclaim, Linux 6.1). Names are freed only after an RCU
// grace period, which is long on a busy machine, so such a pass may nevertheless have freed
// much. We try again after a pause, until maxFruitlessReclaims attempts freed less than an eighth.
const (
	reclaimPause         = 20 * time.Millisecond
	maxFruitlessReclaims = 4
)

// Kernel returns the part of the group's charge that is the kernel's own objects, in bytes.
// It is zero where the kernel does not report it: version 1 may be built, or booted, without
// that accounting. Version 2 updates memory.stat every two seconds, or later
// (mm/memcontrol.c, flush_memcg_stats_dwork). The exact charge minus the page cache is
// therefore sometimes too high, and never too low.
func (l *Leaf) Kernel() (int64, error) {
	if l.cell.tree.layout.Unified {
		f, err := l.openMemory("memory.stat")
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

	f, err := l.openMemory("memory.kmem.usage_in_bytes")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()

	return readInt(f)
}

// Anonymous returns the part of the group's own charge that is memory of processes and not of files, in bytes.
// The kernel may be late by a few pages for each processor.
func (l *Leaf) Anonymous() (int64, error) {
	f, err := l.openMemory("memory.stat")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if l.cell.tree.layout.Unified {
		return readStat(f, "anon")
	}
	return readStat(f, "rss")
}

// openMemory opens a file of the memory controller that is rarely read.
func (l *Leaf) openMemory(name string) (*os.File, error) {
	if l.cell.tree.layout.Unified {
		return os.Open(filepath.Join(l.dir.Name(), name))
	}
	for _, hy := range l.cell.tree.roots {
		if slices.Contains(hy.Controllers, "memory") {
			return os.Open(filepath.Join(l.cell.tree.base(hy), l.cell.tree.name, l.cell.name, l.name, name))
		}
	}
	return nil, fs.ErrNotExist
}

// readStat reads a key of a file that may be longer than the buffer of readKey.
func readStat(f *os.File, key string) (int64, error) {
	var buf [16 << 10]byte
	b, err := pread(f, buf[:])
	if err != nil {
		return 0, err
	}
	return flatKey(b, key)
}
