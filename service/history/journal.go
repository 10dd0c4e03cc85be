package history

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

const (
	maxJournalRun = 4 * api.KiB // by weight; a larger run is not worth writing twice
	journalBatch  = 32          // arrivals moved in one transaction while no caller waits
	journalDelay  = time.Second // so that other tools that read the file see recent runs
	journalMax    = 1024        // with so many, callers wait until some are moved
)

// A journalEntry is a run that is only in the table arrivals.
type journalEntry struct {
	seq int64
	id  string
}

// errDuplicate refuses a second record of a run. If the first is in the table runs, the index refuses
// the second.
var errDuplicate = errors.New("its id is already in use")

func insertJournal() string {
	columns := append(runRow[:len(runRow):len(runRow)], bodyColumns...)
	return "INSERT INTO arrivals (" + strings.Join(columns, ", ") + ") SELECT ?" + strings.Repeat(", ?", len(columns)-1) +
		" WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = ?2)"
}

func copyJournal(table string, columns []string) string {
	list := strings.Join(columns, ", ")
	return "INSERT INTO " + table + " (" + list + ") SELECT " + list + " FROM arrivals WHERE seq <= ? ORDER BY seq"
}

func isSmall(r *api.Record) bool { return weight(r) <= int64(maxJournalRun) }

func (w *writer) loadJournal(ctx context.Context) error {
	rows, err := w.conn.QueryContext(ctx, "SELECT seq, id FROM arrivals ORDER BY seq")
	if err != nil {
		return err
	}
	defer rows.Close()

	for rows.Next() {
		var a journalEntry
		if err := rows.Scan(&a.seq, &a.id); err != nil {
			return err
		}
		w.journal = append(w.journal, a)
	}

	w.s.journalPending.Store(len(w.journal) > 0)
	return errors.Join(rows.Err(), rows.Close())
}

func (w *writer) inJournal(id string) bool {
	return slices.ContainsFunc(w.journal, func(a journalEntry) bool { return a.id == id })
}

// appendJournal stores a small run in the table arrivals.
func (w *writer) appendJournal(ctx context.Context, r *api.Record) error {
	if w.inJournal(r.ID) {
		return errDuplicate
	}

	done, err := w.insertJournal.ExecContext(ctx, append(w.runRowOf(r), bodyOf(r)...)...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errDuplicate, err)
	}

	w.journal = append(w.journal, journalEntry{w.next, r.ID})
	w.stored(r)
	return nil
}

// moveJournal moves the first n arrivals, or all if there are fewer, to the tables runs and bodies.
func (w *writer) moveJournal(ctx context.Context, n int) error {
	if n = min(n, len(w.journal)); n == 0 {
		return nil
	}
	for _, do := range []*sql.Stmt{w.moveRuns, w.moveBodies, w.deleteJournal} {
		if _, err := do.ExecContext(ctx, w.journal[n-1].seq); err != nil {
			return err
		}
	}
	w.journal = w.journal[n:]
	return nil
}

// needsCompaction reports whether there is something to tidy: enough arrivals for a transaction, or runs
// over the bounds. Runs over the bounds that are still arrivals wait until they are moved.
func (w *writer) needsCompaction() bool {
	return len(w.journal) >= journalBatch || w.over() && (len(w.journal) == 0 || w.compacted() > w.s.limits.Runs)
}

// compact moves arrivals and drops runs over the bounds.
func (w *writer) compact(n int) {
	w.compactionFailed = w.transact(func(ctx context.Context) error {
		if err := w.moveJournal(ctx, n); err != nil {
			return err // do nothing else: SQLite may have rolled back by itself, and then only the statements after it would take effect
		}
		return w.evict(ctx, maxEvict+n)
	}) != nil
}

// drainJournal moves all arrivals before the file is closed. If it fails, the next store does it.
func (w *writer) drainJournal() { w.compact(len(w.journal)) }
