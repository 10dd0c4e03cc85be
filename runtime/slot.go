package runtime

import (
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// A slot is the right to one run at a time, on one processor. It owns what a
// watch waits with; its cells come and go.
type slot struct {
	index     int
	processor int    // it is pinned to
	cpus      string // the same as a kernel list; empty where there is no other, and nothing to pin
	all       int    // processors of the agent, for runs that ask for more than one

	ids    idMaps
	poller *poller
	wall   timer
	cpu    timer
	wake   eventfd
	chunk  [chunkSize]byte
}

func newSlot(index, processor, all int) (_ *slot, err error) {
	s := &slot{index: index, processor: processor, all: all}
	if all > 1 {
		s.cpus = fmt.Sprint(processor)
	}
	undo := undoing(&err)
	defer undo.run()
	if s.poller, err = newPoller(); err != nil {
		return nil, err
	}
	undo.add(s.poller.Close)
	if s.wall, err = newTimer(); err != nil {
		return nil, err
	}
	undo.add(s.wall.file.Close)
	if s.cpu, err = newTimer(); err != nil {
		return nil, err
	}
	undo.add(s.cpu.file.Close)
	if s.wake, err = newEventfd(); err != nil {
		return nil, err
	}
	undo.add(s.wake.file.Close)
	if err := errors.Join(
		s.poller.add(s.wall.file, pollIn, tagWall),
		s.poller.add(s.cpu.file, pollIn, tagCPU),
		s.poller.add(s.wake.file, pollIn, tagWake),
	); err != nil {
		return nil, err
	}
	undo.release()
	return s, nil
}

// parallel is how many processors a run under l can use at a time at most: it
// bounds how fast its cpu time can grow.
func (s *slot) parallel(l api.Limits) float64 {
	most := 1.0
	switch {
	case l.Cpuset != "":
		if cpus, err := parseCPUs(l.Cpuset); err == nil {
			most = float64(len(cpus))
		}
	case l.CPUs > 1:
		most = float64(s.all)
	}
	if l.CPUs > 0 {
		most = min(most, l.CPUs)
	}
	return most
}

func (s *slot) Close() error {
	return errors.Join(s.ids.Close(), s.poller.Close(), s.wall.file.Close(), s.cpu.file.Close(), s.wake.file.Close())
}
