package session

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/runtime/calls"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
	"github.com/brig-sandbox/brig/runtime/volume"
)

// A session is a separate cell with one long-lived environment: the namespaces and the scratch that
// a run would have for itself, kept by a shell that makes a child for each exec. Its group limits
// all execs together.
//
// One goroutine, run, owns the session from its creation to its end. It watches the lifetimes, the
// shell and the calls that the profile forbids, and takes everything down.
type session struct {
	*base
	registry *Registry
	id       string
	owner    api.Caller
	plan     *plan.Session
	born     time.Duration // on the monotonic clock
	made     time.Time     // the same as wall-clock time

	root      *os.File        // guarded by mu; of its mount namespace, see cellRoot; nil: not needed yet
	volume    *volume.Mounted // nil: no volume
	poller    *linux.Poller
	lifetimes *alarm // rings when a lifetime may be over
	wake      linux.Eventfd
	callAlarm *alarm             // of the calls that the agent answers
	calls     calls.CallListener // used by run only
	quotas    calls.Quotas       // used by run only
	own       calls.OwnFiles

	over context.Context // ends when the session does
	stop context.CancelFunc
	done chan struct{} // closed when nothing is left of it

	lists    *listQueue // of this session
	pathWork *listQueue // of this session

	spawnMu   sync.Mutex     // held while the shell makes a child
	handlesMu sync.RWMutex   // read lock: handles of files are in use; write lock: before they are closed
	execs     sync.WaitGroup // running execs

	mu         sync.Mutex
	reason     string                   // guarded by mu; why the session ends, the first reason given; empty: it does not end
	closed     bool                     // guarded by mu; the group's files are closed
	begun      int64                    // guarded by mu; number of execs so far
	ends       time.Duration            // guarded by mu; when it ends in any case, on the monotonic clock
	busy       int                      // guarded by mu; number of running execs and file operations
	used       time.Duration            // guarded by mu; when the last of those ended
	running    [maxRunning]*execContext // guarded by mu; running execs, indexed by their word of the clock page: residents come last
	leftLeaves []*groups.Leaf           // guarded by mu; of ended execs that left processes running
	files      map[*os.File]struct{}    // guarded by mu; open for callers
	placed     int64                    // guarded by mu; upper bound of the memory of files put into /box, see chargeFile
	programs   map[string]heldName      // guarded by mu; names in /box of the programs of execs
	built      []string                 // guarded by mu; artifacts that the last exec has left at place 0

	single chan struct{} // has an element while an exec has a program that cannot have another place
}

// The limits of one session.
const (
	maxExecs      = api.SessionExecs // running at once, without residents
	maxRunning    = maxExecs + api.SessionResidents
	maxLeftLeaves = 64 // ended execs that left processes running
)

// enter begins an operation of a caller on the session, unless the session is ending. leave
// finishes it and restarts the idle time.
func (s *session) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" {
		return endedError(s.id, s.reason)
	}
	s.busy++
	return nil
}

func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.used = linux.Monotonic()
}

// end makes the session end for the given reason, unless it is ending already. To learn when it has
// ended, wait for done.
func (s *session) end(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == "" {
		s.reason = why
		if s.volume != nil {
			s.volume.MarkLeaving()
		}
	}
	if !s.closed { // its descriptor may be closed and reused by now
		s.wake.Wake()
	}
}

// endReason returns the reason why the session ends; empty: it does not end.
func (s *session) endReason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// run is the session's goroutine.
func (s *session) run() {
	defer close(s.done)
	if err := s.handleEvents(); err != nil {
		s.registry.log.Error("session failed", "session", s.id, "err", err)
		s.end("the agent could not continue it")
	}
	s.stop()
	if err := s.destroy(); err != nil {
		s.registry.log.Error("session not completely destroyed; the next start of brigd removes the rest", "session", s.id,
			"cell", s.cell.Name, "err", err)
	}
	s.registry.remove(s, s.endReason())
}

// The tags of the events that handleEvents waits for.
const (
	tagSessionShell int32 = iota
	tagSessionCalls
	tagSessionWake
)

// handleEvents returns when the session is to end.
func (s *session) handleEvents() error {
	defer s.callAlarm.stop()
	defer s.lifetimes.stop()
	if err := s.lifetimes.Set(s.due()); err != nil {
		return err
	}

	for s.endReason() == "" {
		events, err := s.poller.Wait()
		if err != nil {
			return err
		}

		for _, e := range events {
			switch e.Fd {
			case tagSessionShell:
				s.end("its cell died, which happens when the host runs out of memory")
			case tagSessionCalls:
				err = s.onNotification(e.Events)
			case tagSessionWake:
				s.wake.Clear()
				err = s.onWake()
			}

			if err != nil {
				return err
			}
		}
	}

	return nil
}

// due returns the next instant at which a lifetime may be over.
func (s *session) due() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.used
	if s.busy > 0 {
		since = linux.Monotonic() // it cannot have been idle before now
	}
	return min(since+s.plan.Idle, s.ends)
}

// setLife makes the session end so long after now, but not sooner than before if longer is set. maximum is of its whole
// life.
func (s *session) setLife(in time.Duration, longer bool, maximum time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != "" || s.closed {
		return endedError(s.id, s.reason)
	}

	now := linux.Monotonic()
	lived := now - s.born
	if in > maximum-lived {
		return api.Refuse(api.CodeAboveCeiling, "the session would live %s, of which %s are over, and this agent's ceiling is %s: "+
			"ask for less, or have the operator raise it (brigd --max-session-life)", api.Duration(lived+in).String(),
			api.Duration(lived.Round(time.Second)), api.Duration(maximum))
	}
	if ends := now + in; !longer || ends > s.ends {
		s.ends = ends
		s.lifetimes.rang.Store(true) // its alarm is set for the old end
		s.wake.Wake()
	}
	return nil
}

// life is how long the session lives from its creation to its end. s.mu is held.
func (s *session) life() time.Duration { return s.ends - s.born }

// wakeUp has the session's goroutine look at its alarms, and whether it is to end.
func (s *session) wakeUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed { // its descriptor may be closed and reused by now
		s.wake.Wake()
	}
}

// onWake does what an alarm that rang was set for.
func (s *session) onWake() error {
	if s.callAlarm.rang.Load() {
		if err := s.calls.Resume(); err != nil {
			return err
		}
	}
	if !s.lifetimes.rang.Load() {
		return nil
	}

	s.lifetimes.Drain()
	due := s.due()
	s.mu.Lock()
	ends, life := s.ends, s.life()
	s.mu.Unlock()

	now := linux.Monotonic()
	switch {
	case now >= ends:
		s.end("it was made for " + api.Duration(life.Round(time.Millisecond)).String() + " and that time is over")
	case now >= due:
		s.end("it was idle for " + api.Duration(s.plan.Idle).String())
	default:
		return s.lifetimes.Set(due)
	}
	return nil
}

// destroy takes everything down. It kills the programs first and all at once: nothing that they do
// meanwhile can delay it (adr 0003).
func (s *session) destroy() error {
	s.mu.Lock()
	killErr := s.group.Kill()
	if killErr == nil {
		killErr = s.group.Expedite()
	}

	// Processes that wait for the disk end at full speed, and so is written what they left.
	killErr = errors.Join(killErr, s.boundVolume(0))
	s.mu.Unlock()
	if errors.Is(killErr, groups.ErrUnsupported) {
		killErr = nil // the end of the pid namespace kills them as well
	}

	world := cell.Shell{Pidfd: s.pidfd}
	err := errors.Join(killErr, world.Kill())
	deadline := linux.Monotonic() + cell.KillTimeout // a program can arrange its memory so that the kernel needs a long time to free it
	if werr := linux.WaitReadable(s.pidfd, cell.KillTimeout); werr != nil {
		err = errors.Join(err, errors.New("the session's shell does not end"), werr)
	}

	s.execs.Wait() // their supervisors have seen the end
	err = errors.Join(err, cell.WaitEmpty(&s.group.Leaf, deadline-linux.Monotonic()), s.cell.Step("session end"))

	s.handlesMu.Lock()
	s.mu.Lock()
	s.closed = true // from here on only this goroutine uses the rest
	s.mu.Unlock()
	s.handlesMu.Unlock()
	for f := range s.files {
		_ = f.Close() // its reader or writer gets the error that the session has ended
	}

	for _, leaf := range s.leftLeaves {
		err = errors.Join(err, leaf.Close())
	}
	return errors.Join(err, cell.Reclaim(&s.group.Leaf), s.close())
}

// close closes what is open and destroys the cell.
func (s *session) close() error {
	var err error
	for _, f := range []*os.File{s.poller.File, s.wake.File, s.root} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	err = errors.Join(err, s.base.close())
	if s.volume != nil { // last: nothing uses it any more
		err = errors.Join(err, s.volume.Close())
	}
	return err
}

// info describes the session.
func (s *session) info() (api.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.reason != "" || s.closed {
		return api.Session{}, endedError(s.id, s.reason)
	}

	usage, err := s.usage()
	if err != nil {
		return api.Session{}, run.ToAPIError(s.registry.log, err, s.id)
	}

	p := s.plan
	at := func(t time.Duration) string { return s.made.Add(t - s.born).UTC().Format(time.RFC3339Nano) }
	i := api.Session{
		ID: s.id, State: api.SessionQuiet, Language: p.Language.Name, Image: p.Image.Digest, Profile: p.Cell.Policy.Name,
		Network: "none", Labels: p.Ask.Labels, Metadata: p.Ask.Metadata, Limits: p.Limits, ExecLimits: p.Exec,
		Idle: api.Duration(min(p.Idle, s.life())), Life: api.Duration(s.life()),
		Created: at(s.born), Ends: at(s.ends), Execs: s.begun, Usage: usage,
	}

	_, i.Snapshot = api.CutSpace(p.Ask.Snapshot)
	if s.volume != nil {
		if i.Volume, err = s.volume.Info(); err != nil {
			return api.Session{}, run.ToAPIError(s.registry.log, err, s.id)
		}
	}

	for _, v := range s.running {
		if v != nil {
			i.Running++
			i.State = api.SessionRunning
		}
	}

	if s.busy == 0 {
		i.IdleEnds = at(min(s.used+p.Idle, s.ends))
	}
	return i, nil
}

// usage reads the measurements of the session's group. s.mu is held.
func (s *session) usage() (u api.SessionUsage, err error) {
	all, err := s.group.Usage()
	if err != nil {
		return u, err
	}

	now, err := s.group.Current()
	if err != nil {
		return u, err
	}

	held, err := s.filesHeld()
	if err != nil {
		return u, err
	}

	put := min(s.placed, held) // charged to the agent, but counted as the session's
	pids, err := s.group.Processes()
	if err != nil {
		return u, err
	}

	u.Scratch, u.Inodes, err = s.scratch.Used()
	u.CPU = api.Known(int64(all.CPU), all.Sources.CPU)
	u.MemoryPeak = api.Known(all.MemoryPeak+put, all.Sources.MemoryPeak)
	u.Memory = api.Known(now+put, all.Sources.Memory)
	u.Processes = api.Known(pids, "pids.current")
	return u, err
}
