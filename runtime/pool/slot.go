package pool

import (
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// A Slot is the right to one run at a time, on its own processors: one, or more where there are
// more cores than slots. It owns the poller, timers and wake event that a supervisor waits with.
// Its cells are built and destroyed during its life.
type Slot struct {
	index     int
	processor int    // of a run with a limit of one cpu
	cpus      string // the same as a kernel list; empty: there is only one processor, and nothing to pin
	own       []int  // processors that no other slot has, if there are enough; the first is processor
	all       int    // number of the agent's processors, for runs that request more than the slot has

	ids       cell.IDMaps
	Poller    *linux.Poller
	Wall      linux.Timer
	CPU       linux.Timer
	CallTimer linux.Timer // of the calls that the agent answers
	Throttle  linux.Timer // of throttled output (tiny writes)
	Wake      linux.Eventfd
	Chunk     []byte

	residents *residents // nil: it is one of the pool's
}

// The tags of the events of a slot's own descriptors.
const (
	TagWall int32 = iota
	TagCPU
	TagThrottle
	TagCallTimer
	TagWake
	FirstFreeTag // tags from here on are for what a run adds
)

// NewSlot makes a slot on its own processors. all is the number of the agent's processors.
func NewSlot(index int, own []int, all int) (*Slot, error) {
	s := &Slot{index: index, processor: own[0], own: own, all: all, Chunk: make([]byte, chunkSize)}
	if all > 1 {
		s.cpus = fmt.Sprint(own[0])
	}
	return s.open()
}

// open opens what the slot waits with.
func (s *Slot) open() (_ *Slot, err error) {
	// A companion gets its slot while the agent serves, so the limit on open files may be met here. Then
	// no descriptor may remain open.
	undo := rollback.On(&err)
	defer undo.Run()

	if s.Poller, err = linux.NewPoller(); err != nil {
		return nil, err
	}

	undo.Add(s.Poller.Close)
	if s.Wall, err = linux.NewTimer(); err != nil {
		return nil, err
	}

	undo.Add(s.Wall.File.Close)
	if s.CPU, err = linux.NewTimer(); err != nil {
		return nil, err
	}

	undo.Add(s.CPU.File.Close)
	if s.CallTimer, err = linux.NewTimer(); err != nil {
		return nil, err
	}

	undo.Add(s.CallTimer.File.Close)
	if s.Throttle, err = linux.NewTimer(); err != nil {
		return nil, err
	}

	undo.Add(s.Throttle.File.Close)
	if s.Wake, err = linux.NewEventfd(); err != nil {
		return nil, err
	}

	undo.Add(s.Wake.File.Close)

	// These descriptors stay in the poller as long as the slot exists. A run adds only its own ones.
	if err := errors.Join(
		s.Poller.Add(s.Wall.File, linux.PollIn, TagWall),
		s.Poller.Add(s.CPU.File, linux.PollIn, TagCPU),
		s.Poller.Add(s.CallTimer.File, linux.PollIn, TagCallTimer),
		s.Poller.Add(s.Throttle.File, linux.PollIn, TagThrottle),
		s.Poller.Add(s.Wake.File, linux.PollIn, TagWake),
	); err != nil {
		return nil, err
	}

	undo.Release()
	return s, nil
}

// CpusetFor returns the processors of a run under l, as a kernel list. Empty means all of the
// agent's, for a limit above what a slot has, which the operator allowed.
func (s *Slot) CpusetFor(l api.Limits) string {
	switch {
	case l.CPUs <= 1:
		return s.cpus
	case l.CPUs <= float64(len(s.own)) && len(s.own) < s.all:
		return plan.FormatCPUs(s.own)
	}
	return ""
}

// Parallel is the maximum number of processors that a run under l can use at once: it limits how
// fast its cpu time can grow.
func (s *Slot) Parallel(l api.Limits) float64 {
	maximum := 1.0
	switch {
	case l.Cpuset != "":
		if cpus, err := plan.ParseCPUs(l.Cpuset); err == nil {
			maximum = float64(len(cpus))
		}
	case l.CPUs > float64(len(s.own)):
		maximum = float64(s.all)
	case l.CPUs > 1:
		maximum = float64(len(s.own))
	}

	if l.CPUs > 0 {
		maximum = min(maximum, l.CPUs)
	}
	return maximum
}

// Close closes what the slot waits with. No run may be under way.
func (s *Slot) Close() error {
	return errors.Join(s.ids.Close(), s.Poller.Close(), s.Wall.File.Close(), s.CPU.File.Close(), s.CallTimer.File.Close(),
		s.Throttle.File.Close(), s.Wake.File.Close())
}

// chunkSize is how much is read from a pipe at once.
const chunkSize = 64 << 10
