package cgroups

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// A group that waits keeps few files open: a host may have a thousand sessions, of which nearly all wait, and a process
// only so many descriptors. What needs a file that rests opens it for that time.

// rest closes files of the group, each as long as nothing needs it.
func (l *Leaf) rest(fields ...**os.File) error {
	var errs []error
	for _, f := range fields {
		if *f == nil || slices.Contains(l.resting, f) {
			continue
		}
		errs = append(errs, (*f).Close())
		l.stats.files = slices.DeleteFunc(l.stats.files, func(open *os.File) bool { return open == *f })
		l.resting = append(l.resting, f)
	}
	return errors.Join(errs...)
}

// awake opens those of the files that rest, calls do, and closes them again. do may call awake.
func (l *Leaf) awake(do func() error, fields ...**os.File) (err error) {
	if len(l.resting) == 0 {
		return do()
	}

	var opened []**os.File
	defer func() {
		for _, f := range opened {
			err = errors.Join(err, (*f).Close())
		}
		l.resting = append(l.resting, opened...)
	}()

	for _, f := range slices.Clone(fields) {
		i := slices.Index(l.resting, f)
		if i < 0 {
			continue
		}
		again, err := reopen(*f, l.flagsOf(f))
		if err != nil {
			return err
		}
		if l.cpu == *f { // on version 2 cpu is split
			l.cpu = again
		}
		*f = again
		l.resting = slices.Delete(l.resting, i, i+1)
		opened = append(opened, f)
	}
	return do()
}

// measured are the files that Begin and Usage read. On version 2 a reset of memory.peak is of the descriptor, which
// therefore never rests.
func (l *Leaf) measured() []**os.File {
	s := &l.stats
	fields := []**os.File{&s.pidsEvents, &s.pidsPeak, &s.current, &s.events, &s.hits, &s.split}
	if s.cpu != s.split {
		fields = append(fields, &s.cpu)
	}
	if !l.cell.tree.layout.Unified {
		fields = append(fields, &s.peak)
	}
	return fields
}

// flagsOf are the flags with which a file is opened.
func (l *Leaf) flagsOf(f **os.File) int {
	switch f {
	case &l.kill:
		return unix.O_WRONLY
	case &l.peak:
		return unix.O_RDWR
	}
	return unix.O_RDONLY
}

// reopen opens a file of a group that is closed.
func reopen(closed *os.File, flags int) (*os.File, error) {
	fd, err := unix.Open(closed.Name(), flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: closed.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), closed.Name()), nil
}

// LimitHits is how often the group's own memory limit was hit since Begin.
func (l *Leaf) LimitHits() (hits int64, err error) {
	err = l.awake(func() error {
		var now counters
		if err := l.limitHits(&now); err != nil {
			return err
		}
		hits = now.hits - l.begin.hits
		return nil
	}, &l.events, &l.hits)
	return hits, err
}
