package template

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
)

// A Making is one attempt to make a snapshot.
type Making struct {
	Until time.Duration // on the monotonic clock; no run waits for it any more

	store    *Store
	key      string
	ended    chan struct{} // closed when it has ended
	waiting  int           // guarded by store.mu; how many runs wait for it, or have not taken what was made
	ahead    bool          // it is for runs to come: none needs to wait for it
	ctx      context.Context
	stop     context.CancelFunc
	yielded  bool     // guarded by store.mu; it was stopped for a caller that waited for a slot or memory
	reserved api.Size // guarded by store.mu; counted in store.size
}

// A Build makes a snapshot, and stops if ctx ends. It reserves the size before it uses the memory.
type Build func(ctx context.Context, m *Making) (*os.File, error)

// Why a making did not begin.
var (
	errUnwanted = errors.New("no run waits for the template")
	errNoTurn   = errors.New("others were being made")
)

// begin makes a snapshot in the background. The store's end stops it. The caller holds mu.
func (s *Store) begin(key string, build Build, ahead bool) *Making {
	m := s.newMaking(key, ahead)
	s.makings.Go(func() {
		defer close(m.ended)
		defer m.stop()
		f, err := s.inTurn(m, build)
		s.end(m, f, err)
	})
	return m
}

func (s *Store) newMaking(key string, ahead bool) *Making {
	m := &Making{Until: linux.Monotonic() + s.cfg.Wait, store: s, key: key, ended: make(chan struct{}), ahead: ahead}
	m.ctx, m.stop = context.WithCancel(s.ctx)
	return m
}

// Yield is what ends the making if a caller has to wait for a slot or memory, for as long as no run waits for the
// snapshot; nil: runs wait from the begin. A run that comes to wait after that has the snapshot made again.
func (m *Making) Yield() func() {
	if !m.ahead {
		return nil
	}
	return func() {
		m.store.mu.Lock()
		defer m.store.mu.Unlock()
		if m.waiting == 0 {
			m.yielded = true
			m.stop()
		}
	}
}

// inTurn calls build when no other snapshot is being made. So makings take one slot at most, and hold
// the memory of one snapshot that may be refused, however many keys are asked for (TPL-09). Those for which no run
// waits take turns of their own, with as much: they are of compilers, and take so long that no run is to wait for them.
func (s *Store) inTurn(m *Making, build Build) (*os.File, error) {
	late := time.NewTimer(m.Until - linux.Monotonic())
	defer late.Stop()

	turn := s.turn
	if m.ahead {
		turn = s.ahead
	}

	select {
	case turn <- struct{}{}:
	case <-m.ctx.Done():
		return nil, m.ctx.Err()
	case <-late.C:
		return nil, errNoTurn
	}
	defer func() { <-turn }()

	if !s.wanted(m) {
		return nil, errUnwanted
	}
	return build(m.ctx, m)
}

// wanted reports whether runs wait for a snapshot, or use one that is to be replaced.
func (s *Store) wanted(m *Making) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.ahead || m.waiting > 0 || s.entries[m.key].now != nil
}

// leave ends the wait of a run whose caller has left.
func (s *Store) leave(m *Making) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.waiting--
}

// Reserve counts the size of a snapshot that is about to use memory, and makes room for it. The making
// calls it once.
func (m *Making) Reserve(size api.Size) error {
	s := m.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(m.key, size); err != nil {
		return err
	}
	m.reserved = size
	s.size += size
	return nil
}

// end records what became of a making. Its entry is there, because it is not forgotten before.
func (s *Store) end(m *Making, f *os.File, err error) {
	var size api.Size
	if err == nil {
		size, err = fileSize(f)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if err == nil && size > m.reserved {
		err = errors.Join(fmt.Errorf("BUG: %s were reserved for a template of %s", m.reserved, size), f.Close())
	}

	s.size -= m.reserved
	e := s.entries[m.key]
	e.making, e.yielded = nil, m.yielded

	switch {
	case m.yielded: // also if it came to an end: its stages may have been stopped alike
		if err == nil {
			_ = f.Close() // a memory file: there is nothing to write back
		}
		e.why, e.retryAt = notIdle, linux.Monotonic()+yieldPause
	case errors.Is(err, errUnwanted):
	case err != nil:
		e.fail("no template could be made: "+err.Error(), !lacking(err))
		s.failed++
	default:
		if e.now != nil {
			s.drop(e.now)
			e.failed = 0
		}
		e.why, e.retryAt = "", 0
		e.now = &Snapshot{Size: size, file: f, store: s, making: m, born: linux.Monotonic()}
		s.size += size
		s.made++
	}
}

// lacking reports whether an error means that there was no turn, no slot or no memory.
func lacking(err error) bool {
	return errors.Is(err, errNoTurn) || api.HasCode(err, api.CodeBusy, api.CodeOverloaded, api.CodeSetupTimeout)
}

// fail notes why there is no snapshot, and until when none is tried. own says that it is the fault of
// what was made. The caller holds the store's mu.
func (e *entry) fail(why string, own bool) {
	e.why, e.retryAt = why, linux.Monotonic()+retryAfter
	if own {
		e.retryAt = linux.Monotonic() + pause(e.failed)
		e.failed++
	}
}

// pause is how long no snapshot of a key is tried after a failure of its own: a minute, and twice as
// long after each further one, up to 32. Others wait while one is being made, so an image of which none
// can be made must not take every turn (TPL-09).
func pause(failedBefore int) time.Duration {
	return retryAfter << min(failedBefore, 5)
}

const retryAfter = time.Minute

// yieldPause is how long after a making that was stopped for a caller no other begins, unless a run waits for it.
const yieldPause = 2 * time.Second

// room makes room for a snapshot: those that no run uses or waits for go, the one that is asked for least first, if
// this one is asked for as much. So a caller of many different ones pushes out none that others use (TPL-14). It
// returns an error that says why there is too little. The caller holds mu.
func (s *Store) room(key string, size api.Size) error {
	now := linux.Monotonic()
	for s.size+size > s.cfg.Max {
		var minimum *entry
		for other, e := range s.entries {
			if other != key && e.now != nil && e.now.users+e.now.making.waiting == 0 &&
				(minimum == nil || e.demand(now) < minimum.demand(now)) {
				minimum = e
			}
		}

		if minimum == nil {
			return api.Fail(api.CodeOverloaded,
				"the template has %s, and the agent keeps %s of templates: raise brigd --template-memory", size, s.cfg.Max)
		}
		if minimum.demand(now) > s.entries[key].demand(now) {
			return api.Fail(api.CodeOverloaded,
				"the template has %s, and those that are used more take the %s that the agent keeps: raise brigd --template-memory",
				size, s.cfg.Max)
		}

		s.drop(minimum.now)
		minimum.now = nil
	}

	return nil
}

func fileSize(f *os.File) (api.Size, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	return api.Size(info.Size()), nil
}
