package kernels

import (
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// A State is what the service knows of a kernel. The zero value is a kernel without an interpreter. Step changes it.
type State struct {
	Phase   Phase
	Cell    int64   // being executed; zero: none
	Waiting []int64 // cells, in the order in which they came
	Count   int     // cells that this interpreter has executed
	silent  map[int64]bool
	cause   api.CellStatus // why Cell is being interrupted or the interpreter killed; empty: it is not
	lost    bool           // an interpreter has ended, and no cell has been told so
	again   bool           // another interpreter is to start when this one has ended
}

// A Phase is a phase of a kernel.
type Phase int

// The phases.
const (
	Absent       Phase = iota // it has no interpreter: the next cell starts one
	Starting                  // its interpreter has not said that it is ready
	Idle                      // it waits for a cell
	Busy                      // it executes a cell
	Interrupting              // the cell got a SIGINT, and has a short time to end
	Killed                    // the end of the interpreter is awaited
	Closed                    // it does nothing more
)

// An Event is something that has happened to a kernel.
type Event struct {
	Kind   EventKind
	Cell   int64          // of Submitted, Left, TimedOut, Finished and GraceOver
	Silent bool           // of Submitted
	Status api.CellStatus // of Finished
}

// An EventKind says what has happened.
type EventKind int

// The kinds.
const (
	Submitted   EventKind = iota // a client has sent a cell
	Left                         // the client of a cell has hung up
	TimedOut                     // a cell has taken as long as it may
	Interrupted                  // a client wants the cell to end
	Restart                      // a client wants a fresh interpreter
	Close                        // the kernel is to end
	Ready                        // the driver waits for its first cell
	Finished                     // the driver says that a cell has ended
	GraceOver                    // a cell that got a SIGINT has not ended in time
	Exited                       // the interpreter has ended
)

// An Action is what the service is to do.
type Action struct {
	Kind      ActionKind
	Cell      int64          // of Begin, End, Refuse, Wait
	Count     int            // of Begin: the number of the cell, for people
	Restarted bool           // of Begin and End, see api.CellEvent
	Status    api.CellStatus // of End
}

// An ActionKind says what to do.
type ActionKind int

// The kinds.
const (
	Launch    ActionKind = iota // start an interpreter
	Begin                       // tell the client of a cell that it begins, and send the cell to the driver
	End                         // tell the client of a cell how it has ended
	Refuse                      // tell the client of a cell that too many cells wait
	Abandon                     // tell the client of a cell that it will not be executed: the interpreter did not start, or the kernel ends
	Interrupt                   // send SIGINT
	Wait                        // GraceOver of the cell follows after a while
	Kill                        // kill the interpreter with all of its processes
)

// Step returns the state of a kernel after an event, and what to do, in this order. It is pure. Events that mean nothing
// in a state change nothing: a program can forge Ready and Finished, and a signal can come too late.
func Step(s State, e Event) (State, []Action) {
	s.Waiting = slices.Clone(s.Waiting)
	if s.Phase == Closed {
		if e.Kind == Submitted {
			return s, []Action{{Kind: Abandon, Cell: e.Cell}}
		}
		return s, nil
	}

	switch e.Kind {
	case Submitted:
		return s.submit(e)
	case Left:
		if i := slices.Index(s.Waiting, e.Cell); i >= 0 {
			s.Waiting, s.silent = slices.Delete(s.Waiting, i, i+1), without(s.silent, e.Cell)
			return s, nil
		}
		return s.interrupt(e.Cell, api.CellInterrupted)
	case TimedOut:
		return s.interrupt(e.Cell, api.CellTimeout)
	case Interrupted:
		return s.interrupt(s.Cell, api.CellInterrupted)
	case GraceOver:
		if s.Phase == Interrupting && e.Cell == s.Cell {
			s.Phase = Killed
			return s, []Action{{Kind: Kill}}
		}
	case Restart:
		return s.restart()
	case Close:
		return s.close()
	case Ready:
		if s.Phase == Starting {
			s.Phase = Idle
			return s.next()
		}
	case Finished:
		return s.finished(e)
	case Exited:
		return s.exited()
	}
	return s, nil
}

func (s State) submit(e Event) (State, []Action) {
	if len(s.Waiting) >= api.KernelCells {
		return s, []Action{{Kind: Refuse, Cell: e.Cell}}
	}
	s.Waiting = append(s.Waiting, e.Cell)
	if e.Silent {
		s.silent = with(s.silent, e.Cell)
	}
	return s.next()
}

// next begins the next cell if that is possible, and starts an interpreter if one is needed.
func (s State) next() (State, []Action) {
	if len(s.Waiting) == 0 {
		return s, nil
	}
	switch s.Phase {
	case Absent:
		s.Phase = Starting
		return s, []Action{{Kind: Launch}}
	case Idle:
	default:
		return s, nil
	}

	s.Phase, s.Cell, s.Waiting = Busy, s.Waiting[0], s.Waiting[1:]
	silent := s.silent[s.Cell]
	s.silent = without(s.silent, s.Cell)
	if !silent {
		s.Count++
	}
	begin := Action{Kind: Begin, Cell: s.Cell, Count: s.Count, Restarted: s.lost}
	s.lost = false
	return s, []Action{begin}
}

// interrupt has a cell that is being executed end for a cause.
func (s State) interrupt(cell int64, cause api.CellStatus) (State, []Action) {
	if s.Phase != Busy || cell != s.Cell {
		return s, nil
	}
	s.Phase, s.cause = Interrupting, cause
	return s, []Action{{Kind: Interrupt}, {Kind: Wait, Cell: cell}}
}

func (s State) restart() (State, []Action) {
	switch s.Phase {
	case Absent:
		s.Phase = Starting
		return s, []Action{{Kind: Launch}}
	case Starting:
		return s, nil
	case Killed:
		s.again = true
		return s, nil
	}
	if s.cause == "" {
		s.cause = api.CellInterrupted
	}
	s.Phase, s.again = Killed, true
	return s, []Action{{Kind: Kill}}
}

func (s State) close() (State, []Action) {
	var actions []Action
	if s.Phase != Absent && s.Phase != Killed {
		actions = append(actions, Action{Kind: Kill})
	}
	if s.Cell != 0 {
		actions = append(actions, Action{Kind: End, Cell: s.Cell, Status: api.CellDied})
	}
	for _, cell := range s.Waiting {
		actions = append(actions, Action{Kind: Abandon, Cell: cell})
	}
	return State{Phase: Closed}, actions
}

// finished ends a cell. A program can say that a cell has ended while it goes on: it only delays its next cell.
func (s State) finished(e Event) (State, []Action) {
	if e.Cell != s.Cell || s.Phase != Busy && s.Phase != Interrupting {
		return s, nil
	}

	status := e.Status
	if s.cause == api.CellTimeout && status == api.CellInterrupted {
		status = api.CellTimeout
	}
	end := Action{Kind: End, Cell: s.Cell, Status: status}
	s.Phase, s.Cell, s.cause = Idle, 0, ""
	s, actions := s.next()
	return s, append([]Action{end}, actions...)
}

// exited notes that the interpreter has ended, with all of its variables.
func (s State) exited() (State, []Action) {
	var actions []Action
	switch {
	case s.Phase == Absent:
		return s, nil
	case s.Phase == Starting: // another one would end the same way
		for _, cell := range s.Waiting {
			actions = append(actions, Action{Kind: Abandon, Cell: cell})
		}
		s.Waiting, s.silent = nil, nil
	case s.Cell != 0:
		status := s.cause
		if status == "" {
			status = api.CellDied
		}
		actions = append(actions, Action{Kind: End, Cell: s.Cell, Status: status, Restarted: true})
		s.lost = true
	default:
		s.lost = true
	}

	again := s.again
	s.Phase, s.Cell, s.Count, s.cause, s.again = Absent, 0, 0, "", false
	if again {
		s.Phase = Starting
		return s, append(actions, Action{Kind: Launch})
	}
	s, more := s.next()
	return s, append(actions, more...)
}

func with(set map[int64]bool, cell int64) map[int64]bool {
	set = without(set, cell)
	set[cell] = true
	return set
}

// without returns a copy of a set that lacks a cell.
func without(set map[int64]bool, cell int64) map[int64]bool {
	made := make(map[int64]bool, len(set)+1)
	for c := range set {
		if c != cell {
			made[c] = true
		}
	}
	return made
}
