package history

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// A job is one thing to store. Exactly one of the two is set.
type job struct {
	run   *Record
	alert *Alert
	done  chan<- error // has room for one
}

const (
	batchMost = 256 // jobs of one transaction
	trimMost  = 256 // runs that go at a time while nobody waits
)

// A writer belongs to the goroutine that runs its loop.
type writer struct {
	s      *Store
	conn   *sql.Conn
	runs   int64 // stored
	weight int64 // their sum
	spared bool  // trimming failed; nothing is trimmed until something is written

	prepared                                                                                              []*sql.Stmt
	begin, commit, rollback, insertRun, insertBody, insertAlert, oldest, dropRuns, dropBodies, dropAlerts *sql.Stmt
}

var (
	runColumns = []string{"id", "owner", "project", "task", "language", "image", "verdict", "code", "message", "stage",
		"created", "queued", "wall", "cpu", "memory", "exit_code", "signal", "source_size", "stdout_truncated", "stderr_truncated", "cut"}
	bodyColumns = []string{"diagnosis", "detail", "findings", "stdout", "stderr"}
)

func insert(table string, columns ...string) string {
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
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
		{&w.insertRun, insert("runs", append(runColumns[:len(runColumns):len(runColumns)], "weight")...)},
		{&w.insertBody, insert("bodies", append([]string{"seq"}, bodyColumns...)...)},
		{&w.insertAlert, insert("alerts", alertColumns...)},
		{&w.oldest, "SELECT seq, weight FROM runs ORDER BY seq LIMIT ?"},
		{&w.dropRuns, "DELETE FROM runs WHERE seq <= ?"},
		{&w.dropBodies, "DELETE FROM bodies WHERE seq <= ?"},
		{&w.dropAlerts, "DELETE FROM alerts WHERE seq <= (SELECT max(seq) FROM alerts) - ?"},
	} {
		var err error
		if *p.into, err = w.conn.PrepareContext(ctx, p.query); err != nil {
			return err
		}
		w.prepared = append(w.prepared, *p.into)
	}
	return nil
}

func (w *writer) count(ctx context.Context) error {
	return w.conn.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(weight), 0) FROM runs").Scan(&w.runs, &w.weight)
}

// loop writes what comes until the store is closed. A job it has taken is answered.
func (w *writer) loop() {
	for {
		if w.over() && !w.spared {
			select {
			case j := <-w.s.jobs:
				w.write(w.gather(j))
			case <-w.s.closing:
				return
			default: // nobody waits
				w.spared = w.transact(nil, trimMost) != nil
			}
			continue
		}
		select {
		case j := <-w.s.jobs:
			w.write(w.gather(j))
		case <-w.s.closing:
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
	err := w.transact(batch, 64+16*len(batch))
	if err == nil || len(batch) == 1 {
		for _, j := range batch {
			j.done <- err
		}
		return
	}
	for _, j := range batch {
		j.done <- w.transact([]job{j}, 64)
	}
}

// transact stores the jobs and drops the oldest runs, at most trim of them, if there
// are more than are kept; all of it or nothing.
func (w *writer) transact(batch []job, trim int) (err error) {
	ctx := context.Background() // a commit is not given up half way; see Add for the caller's
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return w.s.failed("write", err)
	}
	runs, weight := w.runs, w.weight
	defer func() {
		if err != nil {
			w.runs, w.weight = runs, weight
			w.rollback.ExecContext(ctx) // fails where SQLite has rolled back by itself, as on a full disk
			err = w.s.failed("write", err)
		}
	}()
	for _, j := range batch {
		if err := w.store(ctx, j); err != nil {
			return err
		}
	}
	if w.over() {
		if err := w.trim(ctx, trim); err != nil {
			return err
		}
	}
	_, err = w.commit.ExecContext(ctx)
	return err
}

func (w *writer) store(ctx context.Context, j job) error {
	if a := j.alert; a != nil {
		if _, err := w.insertAlert.ExecContext(ctx, a.Time.UnixNano(), string(a.Kind), a.Owner, a.Project, a.Run, a.Text); err != nil {
			return err
		}
		_, err := w.dropAlerts.ExecContext(ctx, w.s.keep.Alerts)
		return err
	}
	r := j.run
	in, err := w.insertRun.ExecContext(ctx, r.ID, r.Owner, r.Project, r.Task, r.Language, r.Image,
		string(r.Verdict), string(r.Code), r.Message, string(r.Stage),
		r.Created.UnixNano(), r.Queued, r.Wall, r.CPU, r.Memory, r.ExitCode, r.Signal, r.SourceSize,
		r.StdoutTruncated, r.StderrTruncated, r.Cut, r.weight())
	if err != nil {
		return err
	}
	seq, err := in.LastInsertId()
	if err != nil {
		return err
	}
	_, err = w.insertBody.ExecContext(ctx, seq, blob(r.Diagnosis), blob(r.Detail), blob(r.Findings), blob(r.Stdout), blob(r.Stderr))
	w.runs++
	w.weight += r.weight()
	return err
}

// blob makes NULL of nothing.
func blob[T ~[]byte](b T) any {
	if len(b) == 0 {
		return nil
	}
	return []byte(b)
}

func (w *writer) over() bool {
	return w.runs > int64(w.s.keep.Runs) || w.weight > int64(w.s.keep.Bytes)
}

// trim drops the oldest runs until the rest is within bounds, but not more than most
// at once: callers wait.
func (w *writer) trim(ctx context.Context, most int) error {
	rows, err := w.oldest.QueryContext(ctx, most)
	if err != nil {
		return err
	}
	defer rows.Close()
	last := int64(-1)
	for w.over() && rows.Next() {
		var weight int64
		if err := rows.Scan(&last, &weight); err != nil {
			return err
		}
		w.runs--
		w.weight -= weight
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if last < 0 { // somebody else emptied the file
		w.runs, w.weight = 0, 0
		return nil
	}
	for _, drop := range []*sql.Stmt{w.dropRuns, w.dropBodies} {
		if _, err := drop.ExecContext(ctx, last); err != nil {
			return err
		}
	}
	return nil
}

// Add stores a finished run and returns when it is committed. A second record of the
// same id is refused. If ctx ends first, the record may be stored nevertheless.
func (s *Store) Add(ctx context.Context, r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	kept := r.fit(int(s.keep.Stream))
	return s.hand(ctx, job{run: &kept})
}

// hand gives a job to the writer and waits for its answer.
func (s *Store) hand(ctx context.Context, j job) error {
	done := make(chan error, 1)
	j.done = done
	if err := s.open(); err != nil {
		return err
	}
	select {
	case s.jobs <- j:
	case <-s.closing:
		return s.open()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
