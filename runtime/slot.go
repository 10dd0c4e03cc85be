package runtime

import (
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// A slot is the right to one run at a time, on its own processors: one, or more where
// there are more cores than slots. It owns what a watch waits with; its cells come and go.
type slot struct {
	index     int
	processor int    // of a run with a limit of one
	cpus      string // the same as a kernel list; empty where there is no other, and nothing to pin
	own       []int  // processors that no other slot has, if there are so many; the first is processor
	all       int    // processors of the agent, for runs that ask for more than the slot has

	ids    idMaps
	poller *poller
	wall   timer
	cpu    timer
	pace   timer // of the calls that the agent answers
	rest   timer // of output that comes byte by byte
	wake   eventfd
	chunk  [chunkSize]byte
}

func newSlot(index int, own []int, all int) (_ *slot, err error) {
	s := &slot{index: index, processor: own[0], own: own, all: all}
	if all > 1 {
		s.cpus = fmt.Sprint(own[0])
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
	if s.pace, err = newTimer(); err != nil {
		return nil, err
	}
	undo.add(s.pace.file.Close)
	if s.rest, err = newTimer(); err != nil {
		return nil, err
	}
	undo.add(s.rest.file.Close)
	if s.wake, err = newEventfd(); err != nil {
		return nil, err
	}
	undo.add(s.wake.file.Close)
	if err := errors.Join(
		s.poller.add(s.wall.file, pollIn, tagWall),
		s.poller.add(s.cpu.file, pollIn, tagCPU),
		s.poller.add(s.pace.file, pollIn, tagPace),
		s.poller.add(s.rest.file, pollIn, tagRest),
		s.poller.add(s.wake.file, pollIn, tagWake),
	); err != nil {
		return nil, err
	}
	undo.release()
	return s, nil
}

// cpusetFor names the processors of a run under l, as a kernel list; empty: all of the
// agent's, for a limit that the operator allowed to be above what a slot has.
func (s *slot) cpusetFor(l api.Limits) string {
	switch {
	case l.CPUs <= 1:
		return s.cpus
	case l.CPUs <= float64(len(s.own)) && len(s.own) < s.all:
		return cpuList(s.own)
	}
	return ""
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
	case l.CPUs > float64(len(s.own)):
		most = float64(s.all)
	case l.CPUs > 1:
		most = float64(len(s.own))
	}
	if l.CPUs > 0 {
		most = min(most, l.CPUs)
	}
	return most
}

func (s *slot) Close() error {
	return errors.Join(s.ids.Close(), s.poller.Close(), s.wall.file.Close(), s.cpu.file.Close(), s.pace.file.Close(), s.rest.file.Close(), s.wake.file.Close())
}
