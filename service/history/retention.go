package history

import (
	"cmp"
	"context"
	"errors"
)

// retention counts the stored runs of all owners, or their stored alerts. It has 16 bytes in memory
// for each of them, so that it finds the one to evict without reading a table.
type retention struct {
	owners        map[string]ownerUsage // by owner; only owners that have entries
	before        map[string]ownerUsage // of the owners that the transaction has changed: their usage before it
	count, weight int64                 // of all owners together
}

// An ownerUsage is the usage of one owner, the oldest entry first. Entries are appended to the
// array and never changed in it. So a copy of an ownerUsage stays valid until an entry is appended
// to another copy.
type ownerUsage struct {
	entries []entry
	weight  int64
}

type entry struct{ seq, weight int64 }

// A bound is the maximum number, and the maximum weight, of the entries of all owners together.
type bound struct{ count, weight int64 }

func (l RetentionLimits) runBound() bound   { return bound{int64(l.Runs), int64(l.Bytes)} }
func (l RetentionLimits) alertBound() bound { return bound{count: int64(l.Alerts)} } // alerts have no weight

func (s *retention) over(b bound) bool { return s.count > b.count || s.weight > b.weight }

// victim returns the owner whose oldest entry is evicted next: the owner with the most entries if
// the count is over the bound, else the owner with the most weight. If several owners have equally
// much, it is the one with the oldest entry. An owner that has only one entry keeps it, whatever
// its weight, while another owner has more than one.
func (s *retention) victim(b bound) (owner string) {
	amount := func(of ownerUsage) int64 {
		switch {
		case len(of.entries) == 1:
			return 0
		case s.count > b.count:
			return int64(len(of.entries))
		}
		return of.weight
	}

	var first ownerUsage
	for name, of := range s.owners {
		if first.entries == nil ||
			cmp.Or(cmp.Compare(amount(first), amount(of)), cmp.Compare(of.entries[0].seq, first.entries[0].seq)) < 0 {
			owner, first = name, of
		}
	}

	return owner
}

// evict removes entries until the rest is within a bound, and returns the seqs of the removed
// entries. It removes at most maximum entries. It stops before an entry whose seq is keepFrom or
// higher.
func (s *retention) evict(b bound, keepFrom int64, maximum int) (evicted []int64) {
	for s.over(b) && len(evicted) < maximum {
		owner := s.victim(b)
		of := s.owners[owner]
		oldest := of.entries[0]
		if oldest.seq >= keepFrom {
			break
		}
		of.entries, of.weight = of.entries[1:], of.weight-oldest.weight
		s.set(owner, of)
		evicted = append(evicted, oldest.seq)
	}
	return evicted
}

// add adds an entry to an owner. It must be newer than the owner's other entries.
func (s *retention) add(owner string, e entry) {
	of := s.owners[owner]
	of.entries, of.weight = append(of.entries, e), of.weight+e.weight
	s.set(owner, of)
}

func (s *retention) set(owner string, to ownerUsage) {
	from := s.owners[owner]
	if _, touched := s.before[owner]; !touched {
		s.before[owner] = from
	}
	s.put(owner, from, to)
}

func (s *retention) put(owner string, from, to ownerUsage) {
	s.count += int64(len(to.entries) - len(from.entries))
	s.weight += to.weight - from.weight
	if s.owners[owner] = to; len(to.entries) == 0 {
		delete(s.owners, owner)
	}
}

// begin starts a transaction: rollback restores the current state.
func (s *retention) begin() { clear(s.before) }

// rollback undoes all changes since begin.
func (s *retention) rollback() {
	for owner, was := range s.before {
		s.put(owner, s.owners[owner], was)
	}
}

// loadRetention counts the rows of a query. The rows must have the columns seq, owner and weight,
// and be in the order of seq. last is the seq of the last row; zero if there is none.
func (w *writer) loadRetention(ctx context.Context, query string) (s retention, last int64, err error) {
	s = retention{owners: map[string]ownerUsage{}, before: map[string]ownerUsage{}}
	rows, err := w.conn.QueryContext(ctx, query)
	if err != nil {
		return s, 0, err
	}
	defer rows.Close()

	for rows.Next() {
		var owner string
		var e entry
		if err := rows.Scan(&e.seq, &owner, &e.weight); err != nil {
			return s, 0, err
		}
		s.add(owner, e)
		last = e.seq
	}

	return s, last, errors.Join(rows.Err(), rows.Close())
}
