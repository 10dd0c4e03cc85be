package runtime

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
)

// A session is a cell of its own with one world in it that lasts: the namespaces and
// the scratch that a run has for itself, kept by a shell that makes a child for each
// exec. Its group bounds all of them together.
//
// One goroutine, live, owns it from its making to its end: it watches the life-times,
// the shell and the calls that the profile forbids, and takes everything down.
type session struct {
	host  *Host
	id    string
	owner Caller
	plan  *sessionPlan
	seat  *seat
	born  time.Duration // on the monotonic clock
	made  time.Time     // the same, for people

	cell     *cell
	group    *groups.Branch
	scratch  *scratch
	volume   *volume   // nil: it has none
	sock     seqpacket // of its shell
	pidfd    *os.File
	listener *os.File // the cell's; nil when the filter has no kill set
	poller   *poller
	timer    timer
	wake     eventfd
	pace     timer     // of the calls that the agent answers
	calls    listening // for live alone
	locks    lockRoom  // for live alone
	own      ownFiles

	over context.Context // ends when the session does
	stop context.CancelFunc
	done chan struct{} // closed when nothing is left of it

	lists *listTurns // of this session

	making  sync.Mutex     // held while the shell makes a child
	handles sync.RWMutex   // held for reading while files are worked on; for writing before their handles are closed
	execs   sync.WaitGroup // under way

	mu     sync.Mutex
	why    string                // guarded by mu; it ends, for this reason: the first one given
	gone   bool                  // guarded by mu; the group's files are closed
	begun  int64                 // guarded by mu; execs so far
	busy   int                   // guarded by mu; execs and file operations under way
	used   time.Duration         // guarded by mu; when the last of those ended
	visits [maxExecs]*visit      // guarded by mu; execs under way, by their word of the clock page
	stay   []*groups.Leaf        // guarded by mu; of execs that have ended and left processes
	files  map[*os.File]struct{} // guarded by mu; open for a caller
	placed int64                 // guarded by mu; most that files put into /box take, see count
}

// The bounds of one session.
const (
	maxExecs = api.SessionExecs // at a time
	maxStay  = 64               // ended execs that have left processes
)

// enter begins something that a caller wants of the session, unless it ends; leave
// ends it, and the idle time begins.
func (s *session) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != "" {
		return endedError(s.id, s.why)
	}
	s.busy++
	return nil
}

func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.used = monotonic()
}

// end has the session end for a reason, unless it does already. Who wants to know
// that it has waits for done.
func (s *session) end(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == "" {
		s.why = why
		if s.volume != nil {
			s.volume.leave()
		}
	}
	if !s.gone { // its number may be another's by now
		s.wake.wake()
	}
}

// ending is the reason why the session ends; empty: it does not.
func (s *session) ending() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// live is the session's goroutine.
func (s *session) live() {
	defer close(s.done)
	if err := s.attend(); err != nil {
		s.host.log.Error("session in doubt", "session", s.id, "err", err)
		s.end("the agent could not go on with it")
	}
	s.stop()
	if err := s.destroy(); err != nil {
		s.host.log.Error("session not destroyed whole; the next start of brigd removes the rest", "session", s.id, "cell", s.cell.name, "err", err)
	}
	s.host.sessions.bury(s, s.ending())
}

// The tags of what attend waits for.
const (
	tagSessionShell int32 = iota
	tagSessionCalls
	tagSessionTimer
	tagSessionWake
	tagSessionPace
)

// attend returns when the session is to end.
func (s *session) attend() error {
	if err := s.timer.set(s.due()); err != nil {
		return err
	}
	for s.ending() == "" {
		events, err := s.poller.wait()
		if err != nil {
			return err
		}
		for _, e := range events {
			switch e.Fd {
			case tagSessionShell:
				s.end("its cell has died, as it does when the host runs out of memory")
			case tagSessionCalls:
				err = s.onCall(e.Events)
			case tagSessionTimer:
				s.timer.drain()
				err = s.onTimer()
			case tagSessionWake:
				s.wake.clear()
			case tagSessionPace:
				err = s.calls.goOn()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// due is the next instant at which a life-time may be over.
func (s *session) due() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.used
	if s.busy > 0 {
		since = monotonic() // it cannot have been idle before now
	}
	return min(since+s.plan.idle, s.born+s.plan.life)
}

func (s *session) onTimer() error {
	due := s.due()
	now := monotonic()
	switch {
	case now >= s.born+s.plan.life:
		s.end("it was made for " + api.Duration(s.plan.life).String() + " and that time is over")
	case now >= due:
		s.end("nothing was asked of it for " + api.Duration(s.plan.idle).String())
	default:
		return s.timer.set(due)
	}
	return nil
}

// destroy takes everything down, the programs first and all at once: nothing that
// they do meanwhile can hold it up (adr 0003).
func (s *session) destroy() error {
	s.mu.Lock()
	killErr := s.group.Kill()
	if killErr == nil {
		killErr = s.group.Hasten()
	}
	s.mu.Unlock()
	if errors.Is(killErr, groups.ErrUnsupported) {
		killErr = nil // the end of the pid namespace does it as well
	}
	world := shell{pidfd: s.pidfd}
	err := errors.Join(killErr, world.kill())
	deadline := monotonic() + deathTime // a program can make its memory such that the kernel works on it for a long time
	if werr := waitReadable(s.pidfd, deathTime); werr != nil {
		err = errors.Join(err, errors.New("the session's shell does not end"), werr)
	}
	s.execs.Wait() // their watches have seen it
	err = errors.Join(err, untilEmpty(&s.group.Leaf, deadline-monotonic()), s.host.step("session end"))

	s.handles.Lock()
	s.mu.Lock()
	s.gone = true // from here on the rest is ours alone
	s.mu.Unlock()
	s.handles.Unlock()
	for f := range s.files {
		_ = f.Close() // whoever reads or writes it is told that the session has ended
	}
	for _, leaf := range s.stay {
		err = errors.Join(err, leaf.Close())
	}
	return errors.Join(err, reclaim(&s.group.Leaf), s.group.Close(), s.close())
}

// close lets go of what is open, and destroys the cell.
func (s *session) close() error {
	var err error
	for _, f := range []*os.File{s.pidfd, s.listener, s.poller.file, s.timer.file, s.pace.file, s.wake.file} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	err = errors.Join(err, s.sock.Close(), s.scratch.Close(), s.cell.Close())
	if s.volume != nil { // last: its users have gone
		err = errors.Join(err, s.volume.Close())
	}
	return err
}

// info tells how the session is.
func (s *session) info() (api.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != "" || s.gone {
		return api.Session{}, endedError(s.id, s.why)
	}
	usage, err := s.usage()
	if err != nil {
		return api.Session{}, s.host.told(err, s.id)
	}
	p := s.plan
	at := func(t time.Duration) string { return s.made.Add(t - s.born).UTC().Format(time.RFC3339Nano) }
	i := api.Session{
		ID: s.id, State: api.SessionQuiet, Language: p.lang.Name, Image: p.image.Digest, Profile: p.cell.filter.name,
		Network: "none", Labels: p.ask.Labels, Limits: p.limits, ExecLimits: p.exec,
		Idle: api.Duration(p.idle), Life: api.Duration(p.life),
		Created: at(s.born), Ends: at(s.born + p.life), Execs: s.begun, Usage: usage,
	}
	if s.volume != nil {
		if i.Volume, err = s.volume.info(); err != nil {
			return api.Session{}, s.host.told(err, s.id)
		}
	}
	for _, v := range s.visits {
		if v != nil {
			i.Running++
			i.State = api.SessionRunning
		}
	}
	if s.busy == 0 {
		i.IdleEnds = at(min(s.used+p.idle, s.born+p.life))
	}
	return i, nil
}

// usage reads the figures of the session's group; s.mu is held.
func (s *session) usage() (u api.SessionUsage, err error) {
	all, err := s.group.Usage()
	if err != nil {
		return u, err
	}
	now, err := s.group.Current()
	if err != nil {
		return u, err
	}
	held, _, err := s.scratch.held()
	if err != nil {
		return u, err
	}
	put := min(s.placed, held) // charged to us, and the session's
	pids, err := s.group.Processes()
	if err != nil {
		return u, err
	}
	u.Scratch, u.Inodes, err = s.scratch.held()
	u.CPU = api.Known(int64(all.CPU), all.Sources.CPU)
	u.MemoryPeak = api.Known(all.MemoryPeak+put, all.Sources.MemoryPeak)
	u.Memory = api.Known(now+put, all.Sources.Memory)
	u.Processes = api.Known(pids, "pids.current")
	return u, err
}
