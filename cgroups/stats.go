package cgroups

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// open opens the statistics of one hierarchy. unified says that the controllers are
// on cgroup2, too.
func (s *stats) open(dir *os.File, hy Hierarchy, unified bool) (err error) {
	if hy.Unified {
		if s.populated, err = s.openFile(dir, "cgroup.events", unix.O_RDONLY); err != nil {
			return err
		}
		if err = s.openSplit(dir); err != nil {
			return err
		}
	}

	for _, c := range controllers {
		if hy.Unified && unified || !hy.Unified && slices.Contains(hy.Controllers, c.name()) {
			if err := c.open(s, dir, hy.Unified); err != nil {
				return err
			}
		}
	}

	return nil
}

// openFile is openIn for a file that Close closes.
func (s *stats) openFile(dir *os.File, name string, flags int) (*os.File, error) {
	f, err := openIn(dir, name, flags)
	if err == nil {
		s.files = append(s.files, f)
	}
	return f, err
}

// openMaybe is openFile for files that not every kernel has: nil when absent.
func (s *stats) openMaybe(dir *os.File, name string, flags int) (*os.File, error) {
	f, err := s.openFile(dir, name, flags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// missing turns the absence of a file into an error that names the kernel version that
// has it.
func missing(err error, file, since string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &UnsupportedError{Feature: file, Since: since}
	}
	return err
}
