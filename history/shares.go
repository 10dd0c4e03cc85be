package history

import (
	"cmp"
	"context"
	"errors"
)

// shares is what each owner has of the runs, or of the alerts: 16 bytes for each of
// them, so that to find what goes reads no table.
type shares struct {
	of            map[string]share // of those who have any
	was           map[string]share // what those had whom the transaction touches
	count, weight int64            // of all together
}

// A share is what one owner has, the oldest first. Its array is only ever appended to,
// so a copy of a share is good until another is appended to.
type share struct {
	entries []entry
	weight  int64
}

type entry struct{ seq, weight int64 }

// A bound is the most of all owners together.
type bound struct{ count, weight int64 }

func (k Keep) ofRuns() bound   { return bound{int64(k.Runs), int64(k.Bytes)} }
func (k Keep) ofAlerts() bound { return bound{count: int64(k.Alerts)} } // they weigh nothing

func (s *shares) over(b bound) bool { return s.count > b.count || s.weight > b.weight }

// whose is the owner whose oldest goes next: who has most, by number if there are too
// many, else by weight; of several who have as much, whose oldest is the oldest. What
// somebody added last does not go while another has more than one, whatever it weighs.
func (s *shares) whose(b bound) (owner string) {
	amount := func(of share) int64 {
		switch {
		case len(of.entries) == 1:
			return 0
		case s.count > b.count:
			return int64(len(of.entries))
		}
		return of.weight
	}
	var first share
	for name, of := range s.of {
		if first.entries == nil || cmp.Or(cmp.Compare(amount(first), amount(of)), cmp.Compare(of.entries[0].seq, first.entries[0].seq)) < 0 {
			owner, first = name, of
		}
	}
	return owner
}

// trim takes away what goes, until the rest is within a bound, and gives the seqs of
// that: most at the most, and none from a seq on that must stay.
func (s *shares) trim(b bound, stay int64, most int) (gone []int64) {
	for s.over(b) && len(gone) < most {
		owner := s.whose(b)
		of := s.of[owner]
		oldest := of.entries[0]
		if oldest.seq >= stay {
			break
		}
		of.entries, of.weight = of.entries[1:], of.weight-oldest.weight
		s.set(owner, of)
		gone = append(gone, oldest.seq)
	}
	return gone
}

// add counts an owner's newest.
func (s *shares) add(owner string, e entry) {
	of := s.of[owner]
	of.entries, of.weight = append(of.entries, e), of.weight+e.weight
	s.set(owner, of)
}

func (s *shares) set(owner string, to share) {
	from := s.of[owner]
	if _, touched := s.was[owner]; !touched {
		s.was[owner] = from
	}
	s.put(owner, from, to)
}

func (s *shares) put(owner string, from, to share) {
	s.count += int64(len(to.entries) - len(from.entries))
	s.weight += to.weight - from.weight
	if s.of[owner] = to; len(to.entries) == 0 {
		delete(s.of, owner)
	}
}

// begin makes what there is now what giveBack comes back to.
func (s *shares) begin() { clear(s.was) }

// giveBack makes undone what was counted since begin.
func (s *shares) giveBack() {
	for owner, was := range s.was {
		s.put(owner, s.of[owner], was)
	}
}

// sharesIn counts what a query finds, whose columns are seq, owner and weight, in the order of
// seq, and gives the last seq.
func (w *writer) sharesIn(ctx context.Context, query string) (s shares, last int64, err error) {
	s = shares{of: map[string]share{}, was: map[string]share{}}
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
