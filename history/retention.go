package history

import (
	"cmp"
	"context"
	"errors"
)

// retention is the retention usage of all owners, of runs or of alerts. It takes 16 bytes for each
// run or alert, so that the one to evict is found without reading a table.
type retention struct {
	owners        map[string]ownerUsage // of each owner that has any
	before        map[string]ownerUsage // before the transaction, of the owners that it has changed
	count, weight int64                 // of all owners together
}

// A ownerUsage is the usage of one owner, the oldest entry first. The array is only ever appended to,
// so a copy of a share stays valid until another copy is appended to.
type ownerUsage struct {
	entries []entry
	weight  int64
}

type entry struct{ seq, weight int64 }

// A bound is the maximum of all owners together.
type bound struct{ count, weight int64 }

func (k RetentionLimits) runBound() bound   { return bound{int64(k.Runs), int64(k.Bytes)} }
func (k RetentionLimits) alertBound() bound { return bound{count: int64(k.Alerts)} } // alerts have no weight

func (s *retention) over(b bound) bool { return s.count > b.count || s.weight > b.weight }

// victim returns the owner whose oldest entry is evicted next: the owner with the most, by number if
// the count is over the bound, else by weight. A tie goes to the owner with the oldest entry. An
// owner's only entry is not evicted while another owner has more than one, whatever its weight.
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
		if first.entries == nil || cmp.Or(cmp.Compare(amount(first), amount(of)), cmp.Compare(of.entries[0].seq, first.entries[0].seq)) < 0 {
			owner, first = name, of
		}
	}
	return owner
}

// evict removes entries until the rest is within a bound, and returns their seqs. It removes at most
// most entries, and none with a seq of stay or later.
func (s *retention) evict(b bound, keepFrom int64, most int) (evicted []int64) {
	for s.over(b) && len(evicted) < most {
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

// add adds the newest entry of an owner.
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

// loadRetention counts the rows of a query, which have the columns seq, owner and weight, in the order
// of seq, and returns the last seq.
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
