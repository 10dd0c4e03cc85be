package history

import (
	"context"
	"database/sql"
	"errors"

	"github.com/brig-sandbox/brig/api"
)

// A Replacement is a run that a new one is to replace: the new one counts from then on, and the old one stays, with its
// own evidence.
type Replacement struct{ Old, New string }

// A replacing are replacements of runs of one owner, which happen together or not at all.
type replacing struct {
	owner string
	pairs []Replacement
}

// Replace has runs of an owner replaced by others, all in one transaction. The new ones take over the label run, the
// batch and the job of the old ones. The same again changes nothing. An old run that the history has dropped
// needs no replacing; one that another run has replaced meanwhile, or a new one that is missing, is an error, and then
// nothing changes.
func (s *Store) Replace(ctx context.Context, owner string, pairs []Replacement) error {
	if err := s.intact(); err != nil {
		return err
	}
	return s.commit(ctx, job{replace: &replacing{owner, pairs}})
}

// replace is Replace in a transaction.
func (w *writer) replace(ctx context.Context, r *replacing) error {
	if err := w.moveJournal(ctx, len(w.journal)); err != nil {
		return err
	}

	for _, p := range r.pairs {
		var by string
		err := w.conn.QueryRowContext(ctx, "SELECT replaced_by FROM runs WHERE id = ? AND owner = ?", p.Old, r.owner).Scan(&by)
		gone := errors.Is(err, sql.ErrNoRows)
		switch {
		case err != nil && !gone:
			return err
		case by == p.New:
			continue
		case by != "":
			return api.Refuse(api.CodeConflict,
				"run %.64s was replaced by run %.64s meanwhile, by another rejudge: discard this one, and rejudge again", p.Old, by)
		}

		counts := "UPDATE runs SET trial = 0 WHERE id = ?1 AND owner = ?2"
		if !gone {
			counts = "UPDATE runs SET trial = 0, (run, batch, job) = (SELECT run, batch, job FROM runs WHERE id = ?3) " +
				"WHERE id = ?1 AND owner = ?2"
		}
		args := []any{p.New, r.owner, p.Old}
		if gone {
			args = args[:2]
		}

		done, err := w.conn.ExecContext(ctx, counts, args...)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(api.Refuse(api.CodeConflict,
				"the history has dropped run %.64s, which was to replace %.64s: discard this rejudge, and rejudge again", p.New, p.Old), err)
		}
		if gone {
			continue
		}
		if _, err := w.conn.ExecContext(ctx, "UPDATE runs SET replaced_by = ? WHERE id = ?", p.New, p.Old); err != nil {
			return err
		}
	}

	return nil
}

// ReplacedBy returns the run that counts instead of a run; empty: it counts itself, or is not in the history.
func (s *Store) ReplacedBy(ctx context.Context, scope Scope, id string) (by string, err error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return "", err
	}
	where, args, err := Filter{Scope: scope, Replaced: true}.where()
	if err != nil {
		return "", err
	}

	err = s.reads.QueryRowContext(ctx, "SELECT replaced_by FROM "+from+" WHERE id = ? AND "+where, append([]any{id}, args...)...).Scan(&by)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return by, s.toAPIError("read a run", err)
}
