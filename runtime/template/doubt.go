package template

import (
	"cmp"
	"context"
	"os"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// maxRefused bounds what is remembered of settings with which runs could not begin from a snapshot.
const maxRefused = 256

// Doubt records that a run with these settings could not begin from a snapshot: further ones have the
// ordinary start. try begins the trial program again, in the background. Only if that fails as well, no
// run begins from the snapshot any more: otherwise a caller could take it from all others by settings
// with which no program begins (TPL-06). A snapshot is tried at most once a minute.
func (s *Store) Doubt(key string, n *Snapshot, settings, why string, try func(ctx context.Context, m *Making) error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if n.refused == nil || len(n.refused) >= maxRefused {
		n.refused = map[string]string{}
	}

	n.refused[settings] = why
	now := linux.Monotonic()
	if e := s.entries[key]; e == nil || e.now != n || s.ctx.Err() != nil || n.tried != 0 && now-n.tried < retryAfter {
		return
	}

	n.tried = now
	n.users++
	m := s.newMaking(key, n.making.ahead)
	if !m.ahead {
		m.waiting = 1
	}
	s.makings.Go(func() {
		defer n.Release()
		defer m.stop()
		_, err := s.inTurn(m, func(ctx context.Context, m *Making) (*os.File, error) { return nil, try(ctx, m) })
		if err != nil && !lacking(err) && m.ctx.Err() == nil {
			s.reject(key, n, why)
		}
	})
}

// reject lets no further run begin from a snapshot. Later a new one is tried.
func (s *Store) reject(key string, n *Snapshot, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	n.failed = why
	if e := s.entries[key]; e != nil && e.now == n {
		s.drop(n)
		e.now = nil
		e.fail(why, true)
	}
}

// Refusal says why a run cannot begin from a snapshot; empty: it may try. settings is called only if
// runs have failed.
func (n *Snapshot) Refusal(settings func() string) string {
	if why, some := n.refusals(""); !some {
		return why
	}
	why, _ := n.refusals(settings())
	return why
}

// refusals says why no run, or none with these settings, can begin from a snapshot, and whether there are
// settings with which none can.
func (n *Snapshot) refusals(settings string) (why string, some bool) {
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	return cmp.Or(n.failed, n.refused[settings]), len(n.refused) > 0
}
