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

// A job is one run, alert or audit entry to store, runs to replace, or a change of the links. If none is set, the writer moves the whole
// journal to the other tables.
type job struct {
	run   *api.Record
	alert *api.Alert
	audit *api.AuditEntry

	replace *replacing
	links   *linkChange

	done chan<- error // buffered for one error
}

const (
	maxBatch = 256 // jobs of one transaction
	maxEvict = 256 // compact drops at most this many runs in one transaction, and one more for each run that it moves
)

// A writer writes the file. Only the goroutine that runs its loop may use it.
type writer struct {
	s    *Store
	conn *sql.Conn
	fileState
	compactionFailed bool // compact failed; it is not tried again until something is written

	prepared                                                                                      []*sql.Stmt
	begin, commit, rollback, insertRun, insertBody, insertAlert, dropRuns, dropBodies, dropAlerts *sql.Stmt
	insertJournal, moveRuns, moveBodies, deleteJournal                                            *sql.Stmt
	insertAudit, dropAudit                                                                        *sql.Stmt
}

// A fileState is what the writer knows of the content of the file. If a transaction fails, attempt
// restores the fileState from before it.
type fileState struct {
	runs    retention      // including those in the journal
	alerts  retention      // all with weight 0
	audit   retention      // of the audit log; all with weight 0
	next    int64          // seq of the next run
	journal []journalEntry // in the order of seq; entries are appended to its array and never changed in it
}

// newWriter prepares the file and the statements, and counts the stored runs and alerts.
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

// close also closes the statements: SQLite keeps a file open as long as it has open statements.
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
		{&w.insertJournal, insertJournal()},
		{&w.moveRuns, copyJournal("runs", runRow)},
		{&w.moveBodies, copyJournal("bodies", bodyRow)},
		{&w.deleteJournal, "DELETE FROM arrivals WHERE seq <= ?"},
		{&w.insertAlert, insert("alerts", alertColumns...)},
		{&w.dropRuns, drop("runs")},
		{&w.dropBodies, drop("bodies")},
		{&w.dropAlerts, drop("alerts")},
		{&w.insertAudit, insert("audit", auditColumns...)},
		{&w.dropAudit, drop("audit")},
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
	if w.runs, w.next, err = w.loadRetention(ctx,
		"SELECT seq, owner, weight FROM runs UNION ALL SELECT seq, owner, weight FROM arrivals ORDER BY seq"); err != nil {
		return err
	}
	w.next++
	if w.alerts, _, err = w.loadRetention(ctx, "SELECT seq, owner, 0 FROM alerts ORDER BY seq"); err != nil {
		return err
	}
	if w.audit, _, err = w.loadRetention(ctx, "SELECT seq, owner, 0 FROM audit ORDER BY seq"); err != nil {
		return err
	}
	return w.loadJournal(ctx)
}

// loop writes incoming jobs until the store is closed. It answers every job that it has received.
func (w *writer) loop() {
	moveTimer := time.NewTimer(0)
	defer moveTimer.Stop()

	for timerSet := false; ; {
		if len(w.journal) == 0 || w.compactionFailed {
			moveTimer.Stop()
			timerSet = false
		} else if !timerSet {
			moveTimer.Reset(journalDelay)
			timerSet = true
		}

		if w.needsCompaction() && !w.compactionFailed {
			runtime.Gosched() // let the callers that have just got their answers run first

			select {
			case j := <-w.s.jobs:
				w.write(w.gather(j))
			case <-moveTimer.C: // select chooses at random between jobs and this, so this happens even if a job always waits
				timerSet = false
				w.compact(len(w.journal))
			case <-w.s.closing:
				w.drainJournal()
				return
			default: // no job waits
				w.compact(journalBatch)
			}
			continue
		}

		select {
		case j := <-w.s.jobs:
			w.write(w.gather(j))
		case <-moveTimer.C:
			timerSet = false
			w.compact(len(w.journal))
		case <-w.s.closing:
			w.drainJournal()
			return
		}
	}
}

// gather takes all waiting jobs, up to maxBatch.
func (w *writer) gather(first job) []job {
	batch := []job{first}
	for len(batch) < maxBatch {
		select {
		case j := <-w.s.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// write stores a batch in one transaction and answers each job. If that fails, it tries each job
// alone: one bad record must not make the others fail.
func (w *writer) write(batch []job) {
	w.compactionFailed = false
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

// storeAll stores all of the jobs, or none. A single small run is only appended to the journal.
// Otherwise storeAll also drops a limited number of old runs if the store is over its bounds.
func (w *writer) storeAll(batch []job) error {
	if r := batch[0].run; len(batch) == 1 && r != nil && isSmall(r) && len(w.journal) < journalMax {
		return w.attempt(func() error { return w.appendJournal(context.Background(), r) })
	}

	return w.transact(func(ctx context.Context) error {
		before := w.compacted()
		for _, j := range batch {
			if err := w.store(ctx, j); err != nil {
				return err
			}
		}
		if len(w.journal) >= journalMax || w.over() && w.compacted() > before {
			if err := w.moveJournal(ctx, journalBatch+len(batch)); err != nil {
				return err
			}
		}
		return w.evict(ctx, 64+16*max(len(batch), w.compacted()-before))
	})
}

// attempt calls do, which changes the file and the fileState. If do fails, attempt restores the
// fileState.
func (w *writer) attempt(do func() error) error {
	next, arrivals := w.next, w.journal
	w.runs.begin()
	w.alerts.begin()
	w.audit.begin()
	err := do()
	if err != nil {
		w.next, w.journal = next, arrivals
		w.runs.rollback()
		w.alerts.rollback()
		w.audit.rollback()
	}
	w.s.journalPending.Store(len(w.journal) > 0)
	return w.s.toAPIError("write", err)
}

// transact calls do in a transaction.
func (w *writer) transact(do func(context.Context) error) error {
	ctx := context.Background() // nothing interrupts a commit; Store.commit stops waiting when the caller's context is done
	return w.attempt(func() error {
		if _, err := w.begin.ExecContext(ctx); err != nil {
			return err
		}
		err := do(ctx)
		if err == nil {
			_, err = w.commit.ExecContext(ctx)
		}
		if err != nil {
			w.rollback.ExecContext(ctx) //nolint:errcheck // fails if SQLite has rolled back by itself, as on a full disk
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
		return w.drop(ctx, w.alerts.evict(w.s.limits.alertBound(), seq, int(w.alerts.count)), w.dropAlerts)

	case j.audit != nil:
		e := j.audit
		done, err := w.insertAudit.ExecContext(ctx, e.Time.UnixNano(), e.By, string(e.Action), e.Subject)
		if err != nil {
			return err
		}
		seq, err := done.LastInsertId()
		if err != nil {
			return err
		}
		w.audit.add(e.By, entry{seq: seq})
		return w.drop(ctx, w.audit.evict(bound{count: int64(w.s.limits.Audit)}, seq, int(w.audit.count)), w.dropAudit)

	case j.replace != nil:
		return w.replace(ctx, j.replace)
	case j.links != nil:
		return w.changeLinks(ctx, j.links)
	case j.run == nil:
		return w.moveJournal(ctx, len(w.journal))
	case isSmall(j.run):
		return w.appendJournal(ctx, j.run)
	case w.inJournal(j.run.ID):
		return errDuplicate
	}

	if _, err := w.insertRun.ExecContext(ctx, w.runRowOf(j.run)...); err != nil {
		return err
	}

	_, err := w.insertBody.ExecContext(ctx, append([]any{w.next}, bodyOf(j.run)...)...)
	w.stored(j.run)
	return err
}

// stored counts a run that was inserted, and sets the seq of the next one.
func (a *fileState) stored(r *api.Record) {
	a.runs.add(r.Owner, entry{a.next, weight(r)})
	a.next++
}

// compacted returns the number of runs that are not in the journal.
func (a *fileState) compacted() int { return int(a.runs.count) - len(a.journal) }

func (w *writer) over() bool { return w.runs.over(w.s.limits.runBound()) }

// evict drops runs until the rest is within the bounds. It stops after limit runs, because callers
// wait meanwhile. Runs in the journal, and all runs that are newer than the oldest one in it, stay
// until the journal is moved.
func (w *writer) evict(ctx context.Context, limit int) error {
	keepFrom := w.next
	if len(w.journal) > 0 {
		keepFrom = w.journal[0].seq
	}
	return w.drop(ctx, w.runs.evict(w.s.limits.runBound(), keepFrom, limit), w.dropRuns, w.dropBodies)
}

func drop(table string) string { return "DELETE FROM " + table + " WHERE seq BETWEEN ? AND ?" }

// drop executes each statement for all seqs. One execution deletes a range of consecutive seqs.
func (w *writer) drop(ctx context.Context, seqs []int64, statements ...*sql.Stmt) error {
	slices.Sort(seqs)

	for len(seqs) > 0 {
		n := 1
		for n < len(seqs) && seqs[n] == seqs[0]+int64(n) {
			n++
		}
		for _, drop := range statements {
			if _, err := drop.ExecContext(ctx, seqs[0], seqs[n-1]); err != nil {
				return err
			}
		}
		seqs = seqs[n:]
	}

	return nil
}
