package runtime

import (
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A slot is the right to one run at a time, on its own processors: one, or more where there are
// more cores than slots. It owns the poller, timers and wake event that a supervisor waits with.
// Its cells are built and destroyed during its life.
type slot struct {
	index     int
	processor int    // of a run with a limit of one cpu
	cpus      string // the same as a kernel list; empty: there is only one processor, and nothing to pin
	own       []int  // processors that no other slot has, if there are enough; the first is processor
	all       int    // number of the agent's processors, for runs that request more than the slot has

	ids       idMaps
	poller    *poller
	wall      timer
	cpu       timer
	callTimer timer // of the calls that the agent answers
	throttle  timer // of throttled output (tiny writes)
	wake      eventfd
	chunk     [chunkSize]byte
}

// The tags of the events of a slot's own descriptors.
const (
	tagWall int32 = iota
	tagCPU
	tagThrottle
	tagCallTimer
	tagWake
	firstFreeTag // tags from here on are for what a run adds
)

func newSlot(index int, own []int, all int) (_ *slot, err error) {
	s := &slot{index: index, processor: own[0], own: own, all: all}
	if all > 1 {
		s.cpus = fmt.Sprint(own[0])
	}
	undo := rollback.On(&err)
	defer undo.Run()
	if s.poller, err = newPoller(); err != nil {
		return nil, err
	}
	undo.Add(s.poller.Close)
	if s.wall, err = newTimer(); err != nil {
		return nil, err
	}
	undo.Add(s.wall.file.Close)
	if s.cpu, err = newTimer(); err != nil {
		return nil, err
	}
	undo.Add(s.cpu.file.Close)
	if s.callTimer, err = newTimer(); err != nil {
		return nil, err
	}
	undo.Add(s.callTimer.file.Close)
	if s.throttle, err = newTimer(); err != nil {
		return nil, err
	}
	undo.Add(s.throttle.file.Close)
	if s.wake, err = newEventfd(); err != nil {
		return nil, err
	}
	undo.Add(s.wake.file.Close)
	if err := errors.Join(
		s.poller.add(s.wall.file, pollIn, tagWall),
		s.poller.add(s.cpu.file, pollIn, tagCPU),
		s.poller.add(s.callTimer.file, pollIn, tagCallTimer),
		s.poller.add(s.throttle.file, pollIn, tagThrottle),
		s.poller.add(s.wake.file, pollIn, tagWake),
	); err != nil {
		return nil, err
	}
	undo.Release()
	return s, nil
}

// cpusetFor returns the processors of a run under l, as a kernel list. Empty means all of the
// agent's, for a limit above what a slot has, which the operator allowed.
func (s *slot) cpusetFor(l api.Limits) string {
	switch {
	case l.CPUs <= 1:
		return s.cpus
	case l.CPUs <= float64(len(s.own)) && len(s.own) < s.all:
		return plan.FormatCPUs(s.own)
	}
	return ""
}

// parallel is the maximum number of processors that a run under l can use at once: it limits how
// fast its cpu time can grow.
func (s *slot) parallel(l api.Limits) float64 {
	most := 1.0
	switch {
	case l.Cpuset != "":
		if cpus, err := plan.ParseCPUs(l.Cpuset); err == nil {
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
	return errors.Join(s.ids.Close(), s.poller.Close(), s.wall.file.Close(), s.cpu.file.Close(), s.callTimer.file.Close(), s.throttle.file.Close(), s.wake.file.Close())
}

// chunkSize is how much is read from a pipe at once: the capacity of a pipe.
const chunkSize = 64 << 10
