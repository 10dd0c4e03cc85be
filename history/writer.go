package history

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A job is one thing to store; with neither set, it has every arrival moved on.
type job struct {
	run   *api.Record
	alert *api.Alert
	done  chan<- error // has room for one
}

const (
	batchMost = 256 // jobs of one transaction
	trimMost  = 256 // runs that go at a time while nobody waits
)

// A writer belongs to the goroutine that runs its loop.
type writer struct {
	s    *Store
	conn *sql.Conn
	account
	spared bool // tidying failed; it is left until something is written

	prepared                                                                                      []*sql.Stmt
	begin, commit, rollback, insertRun, insertBody, insertAlert, dropRuns, dropBodies, dropAlerts *sql.Stmt
	arrive, moveRuns, moveBodies, dropArrivals                                                    *sql.Stmt
}

// An account is what the writer knows of the file. A transaction that fails gives back
// what it was before.
type account struct {
	runs     shares    // arrivals too
	alerts   shares    // all of weight 0
	next     int64     // seq of the next run
	arrivals []arrival // in the order of seq; its array is only ever appended to
}

// newWriter makes the file ready and the statements, and counts what there is.
func (s *Store) newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{s: s, conn: conn}
	if err := w.setUp(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// close closes the statements too: SQLite keeps a file open as long as there are any.
func (w *writer) close() error {
	var errs []error
	for _, p := range w.prepared {
		errs = append(errs, p.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

func (w *writer) setUp(ctx context.Context) error {
	if err := prepare(ctx, w.conn, w.s.path); err != nil {
		return err
	}
	if err := w.count(ctx); err != nil {
		return err
	}
	for _, p := range []struct {
		into  **sql.Stmt
		query string
	}{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{&w.insertRun, insert("runs", runRow...)},
		{&w.insertBody, insert("bodies", bodyRow...)},
		{&w.arrive, arrive()},
		{&w.moveRuns, move("runs", runRow)},
		{&w.moveBodies, move("bodies", bodyRow)},
		{&w.dropArrivals, "DELETE FROM arrivals WHERE seq <= ?"},
		{&w.insertAlert, insert("alerts", alertColumns...)},
		{&w.dropRuns, drop("runs")},
		{&w.dropBodies, drop("bodies")},
		{&w.dropAlerts, drop("alerts")},
	} {
		var err error
		if *p.into, err = w.conn.PrepareContext(ctx, p.query); err != nil {
			return err
		}
		w.prepared = append(w.prepared, *p.into)
	}
	return nil
}

func (w *writer) count(ctx context.Context) (err error) {
	if w.runs, w.next, err = w.sharesIn(ctx, "SELECT seq, owner, weight FROM runs UNION ALL SELECT seq, owner, weight FROM arrivals ORDER BY seq"); err != nil {
		return err
	}
	w.next++
	if w.alerts, _, err = w.sharesIn(ctx, "SELECT seq, owner, 0 FROM alerts ORDER BY seq"); err != nil {
		return err
	}
	return w.countArrivals(ctx)
}

// loop writes what comes until the store is closed. A job it has taken is answered.
func (w *writer) loop() {
	patience := time.NewTimer(0)
	defer patience.Stop()
	for waits := false; ; {
		if len(w.arrivals) == 0 || w.spared {
			patience.Stop()
			waits = false
		} else if !waits {
			patience.Reset(moveAfter)
			waits = true
		}
		if w.behind() && !w.spared {
			runtime.Gosched() // whoever was just answered does not wait for the tidying
			select {
			case j := <-w.s.jobs:
				w.write(w.gather(j))
			case <-patience.C: // comes to be chosen though somebody always waits
				waits = false
				w.tidy(len(w.arrivals))
			case <-w.s.closing:
				w.last()
				return
			default: // nobody waits
				w.tidy(moveMost)
			}
			continue
		}
		select {
		case j := <-w.s.jobs:
			w.write(w.gather(j))
		case <-patience.C:
			waits = false
			w.tidy(len(w.arrivals))
		case <-w.s.closing:
			w.last()
			return
		}
	}
}

// gather takes every job that waits, up to a transaction's worth.
func (w *writer) gather(first job) []job {
	batch := []job{first}
	for len(batch) < batchMost {
		select {
		case j := <-w.s.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// write stores a batch in one transaction and answers each job. If that fails, each
// is tried alone: one bad record must not take the others with it.
func (w *writer) write(batch []job) {
	w.spared = false
	err := w.storeAll(batch)
	if err == nil || len(batch) == 1 {
		for _, j := range batch {
			j.done <- err
		}
		return
	}
	for _, j := range batch {
		j.done <- w.storeAll([]job{j})
	}
}

// storeAll stores the jobs and drops old runs, not too many of them, if there are more
// than are kept; all of it or nothing.
func (w *writer) storeAll(batch []job) error {
	if r := batch[0].run; len(batch) == 1 && r != nil && small(r) && len(w.arrivals) < arrivalsMost {
		return w.attempt(func() error { return w.arriving(context.Background(), r) })
	}
	return w.transact(func(ctx context.Context) error {
		before := w.filed()
		for _, j := range batch {
			if err := w.store(ctx, j); err != nil {
				return err
			}
		}
		if len(w.arrivals) >= arrivalsMost || w.over() && w.filed() > before {
			if err := w.moveOn(ctx, moveMost+len(batch)); err != nil {
				return err
			}
		}
		return w.trim(ctx, 64+16*max(len(batch), w.filed()-before))
	})
}

// attempt does something to the file and, if it fails, has the account as before.
func (w *writer) attempt(do func() error) error {
	next, arrivals := w.next, w.arrivals
	w.runs.begin()
	w.alerts.begin()
	err := do()
	if err != nil {
		w.next, w.arrivals = next, arrivals
		w.runs.giveBack()
		w.alerts.giveBack()
	}
	w.s.unmoved.Store(len(w.arrivals) > 0)
	return w.s.failed("write", err)
}

// transact does something in a transaction.
func (w *writer) transact(do func(context.Context) error) error {
	ctx := context.Background() // a commit is not given up half way; see Add for the caller's
	return w.attempt(func() error {
		if _, err := w.begin.ExecContext(ctx); err != nil {
			return err
		}
		err := do(ctx)
		if err == nil {
			_, err = w.commit.ExecContext(ctx)
		}
		if err != nil {
			w.rollback.ExecContext(ctx) // fails where SQLite has rolled back by itself, as on a full disk
		}
		return err
	})
}

func (w *writer) store(ctx context.Context, j job) error {
	switch {
	case j.alert != nil:
		a := j.alert
		done, err := w.insertAlert.ExecContext(ctx, a.Time.UnixNano(), string(a.Kind), a.Owner, a.Project, a.Run, a.Text)
		if err != nil {
			return err
		}
		seq, err := done.LastInsertId()
		if err != nil {
			return err
		}
		w.alerts.add(a.Owner, entry{seq: seq})
		return w.drop(ctx, w.alerts.trim(w.s.keep.ofAlerts(), seq, int(w.alerts.count)), w.dropAlerts)
	case j.run == nil:
		return w.moveOn(ctx, len(w.arrivals))
	case small(j.run):
		return w.arriving(ctx, j.run)
	case w.hasArrived(j.run.ID):
		return errKnown
	}
	if _, err := w.insertRun.ExecContext(ctx, w.runRowOf(j.run)...); err != nil {
		return err
	}
	_, err := w.insertBody.ExecContext(ctx, append([]any{w.next}, bodyOf(j.run)...)...)
	w.stored(j.run)
	return err
}

// stored counts a run.
func (a *account) stored(r *api.Record) {
	a.runs.add(r.Owner, entry{a.next, weight(r)})
	a.next++
}

// filed is how many are in their place.
func (a *account) filed() int { return int(a.runs.count) - len(a.arrivals) }

func (w *writer) over() bool { return w.runs.over(w.s.keep.ofRuns()) }

// trim drops runs until the rest is within bounds, but not more than most at once:
// callers wait. What is behind an arrival is newer than it, and waits for it.
func (w *writer) trim(ctx context.Context, most int) error {
	stay := w.next
	if len(w.arrivals) > 0 {
		stay = w.arrivals[0].seq
	}
	return w.drop(ctx, w.runs.trim(w.s.keep.ofRuns(), stay, most), w.dropRuns, w.dropBodies)
}

func drop(table string) string { return "DELETE FROM " + table + " WHERE seq BETWEEN ? AND ?" }

// drop deletes rows by their seqs, those that follow each other together.
func (w *writer) drop(ctx context.Context, seqs []int64, from ...*sql.Stmt) error {
	slices.Sort(seqs)
	for len(seqs) > 0 {
		n := 1
		for n < len(seqs) && seqs[n] == seqs[0]+int64(n) {
			n++
		}
		for _, drop := range from {
			if _, err := drop.ExecContext(ctx, seqs[0], seqs[n-1]); err != nil {
				return err
			}
		}
		seqs = seqs[n:]
	}
	return nil
}
