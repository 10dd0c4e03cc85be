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
	smallRun     = 4 * api.KiB // by weight; a larger one is not worth writing twice
	moveMost     = 32          // arrivals that move on in a transaction while nobody waits
	moveAfter    = time.Second // for whoever looks into the file with a tool of his own
	arrivalsMost = 1024        // from here on callers wait for some to move on
)

// An arrival is a run that is in arrivals only.
type arrival struct {
	seq int64
	id  string
}

// errKnown refuses a second record of a run. Where the first is in runs, the index does.
var errKnown = errors.New("its id is taken")

func arrive() string {
	columns := append(runRow[:len(runRow):len(runRow)], bodyColumns...)
	return "INSERT INTO arrivals (" + strings.Join(columns, ", ") + ") SELECT ?" + strings.Repeat(", ?", len(columns)-1) +
		" WHERE NOT EXISTS (SELECT 1 FROM runs WHERE id = ?2)"
}

func move(table string, columns []string) string {
	list := strings.Join(columns, ", ")
	return "INSERT INTO " + table + " (" + list + ") SELECT " + list + " FROM arrivals WHERE seq <= ? ORDER BY seq"
}

func small(r *api.Record) bool { return weight(r) <= int64(smallRun) }

func (w *writer) countArrivals(ctx context.Context) error {
	rows, err := w.conn.QueryContext(ctx, "SELECT seq, id FROM arrivals ORDER BY seq")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a arrival
		if err := rows.Scan(&a.seq, &a.id); err != nil {
			return err
		}
		w.arrivals = append(w.arrivals, a)
	}
	w.s.unmoved.Store(len(w.arrivals) > 0)
	return errors.Join(rows.Err(), rows.Close())
}

func (w *writer) hasArrived(id string) bool {
	return slices.ContainsFunc(w.arrivals, func(a arrival) bool { return a.id == id })
}

// arriving stores a small run.
func (w *writer) arriving(ctx context.Context, r *api.Record) error {
	if w.hasArrived(r.ID) {
		return errKnown
	}
	done, err := w.arrive.ExecContext(ctx, append(w.runRowOf(r), bodyOf(r)...)...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errKnown, err)
	}
	w.arrivals = append(w.arrivals, arrival{w.next, r.ID})
	w.stored(r)
	return nil
}

// moveOn moves the first n arrivals, or all there are, to runs and bodies.
func (w *writer) moveOn(ctx context.Context, n int) error {
	if n = min(n, len(w.arrivals)); n == 0 {
		return nil
	}
	for _, do := range []*sql.Stmt{w.moveRuns, w.moveBodies, w.dropArrivals} {
		if _, err := do.ExecContext(ctx, w.arrivals[n-1].seq); err != nil {
			return err
		}
	}
	w.arrivals = w.arrivals[n:]
	return nil
}

// behind reports whether there is something to tidy: arrivals that are worth a
// transaction, or runs over the bounds. What is over among the arrivals waits for them.
func (w *writer) behind() bool {
	return len(w.arrivals) >= moveMost || w.over() && (len(w.arrivals) == 0 || w.filed() > w.s.keep.Runs)
}

// tidy moves arrivals on and drops what is over.
func (w *writer) tidy(arrivals int) {
	w.spared = w.transact(func(ctx context.Context) error {
		if err := w.moveOn(ctx, arrivals); err != nil {
			return err // and nothing else: SQLite may have rolled back by itself, and what came now would count alone
		}
		return w.trim(ctx, trimMost+arrivals)
	}) != nil
}

// last leaves a file in which everything is in its place. If it fails, the next store does it.
func (w *writer) last() { w.tidy(len(w.arrivals)) }
