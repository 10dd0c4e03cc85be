package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/brig-sandbox/brig/api"
)

// RetentionLimits bounds a store, for all owners together. Above a bound, the store evicts runs of the owner
// with the most, in the order in which they were added: an owner with few keeps them, whatever
// other owners do. The zero value of each field is its default.
type RetentionLimits struct {
	Runs   int      // zero: DefaultRuns
	Stream api.Size // of each stream of a run; zero means 64 KiB, which is also the most
	Bytes  api.Size // of all runs together; zero: DefaultBytes; the least is 1 MiB
	Alerts int      // zero means 10,000
	Audit  int      // entries of the audit log; zero means 10,000
}

// Defaults of RetentionLimits.
const (
	DefaultRuns  = 100_000
	DefaultBytes = 4 * api.GiB
)

func (l RetentionLimits) withDefaults() (RetentionLimits, error) {
	l.Runs = cmp.Or(l.Runs, DefaultRuns)
	l.Stream = cmp.Or(l.Stream, MaxStream)
	l.Bytes = cmp.Or(l.Bytes, DefaultBytes)
	l.Alerts = cmp.Or(l.Alerts, 10_000)
	l.Audit = cmp.Or(l.Audit, 10_000)
	switch {
	case l.Runs < 0, l.Alerts < 0, l.Audit < 0:
		return l, api.Refuse(api.CodeBadRequest,
			"history: cannot store %d runs, %d alerts and %d audit entries: none may be negative", l.Runs, l.Alerts, l.Audit)
	case l.Stream < 0 || l.Stream > MaxStream:
		return l, api.Refuse(api.CodeBadRequest,
			"history: cannot store %d bytes of a stream: the maximum is %d", l.Stream, MaxStream)
	case l.Bytes < api.MiB:
		return l, api.Refuse(api.CodeBadRequest,
			"history: cannot limit all runs to %d bytes: the least is %d", l.Bytes, api.MiB)
	}

	return l, nil
}

// readers is the maximum of concurrent queries; each has a page cache of 2 MB.
const readers = 4

// A Store is an open history, safe for use by many goroutines.
type Store struct {
	path   string
	file   *os.File        // the file at path when it was opened. Closing it would drop SQLite's locks: it is closed last
	limits RetentionLimits // immutable
	reads  *sql.DB
	w      *writer // owned by its goroutine until that has ended

	jobs           chan job
	failed         atomic.Pointer[failure] // the last write, if it failed
	journalPending atomic.Bool             // there are arrivals; set by the writer before it answers
	closing        chan struct{}           // closed by Close
	close          func() error            // runs once
	writing        sync.WaitGroup
}

// Open opens the history at path or creates one, which only the file's owner can read. A file that
// is damaged, from a newer brig or from another program is refused and left unchanged. Do not open
// two stores on one file, in one process or in two: each would keep its own account of the content.
func Open(ctx context.Context, path string, keep RetentionLimits) (*Store, error) {
	keep, err := keep.withDefaults()
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}

	s := &Store{path: path, limits: keep, jobs: make(chan job), closing: make(chan struct{})}
	if err := create(path); err != nil {
		return nil, s.toAPIError("open", err)
	}
	if s.file, err = os.Open(path); err != nil {
		return nil, s.toAPIError("open", err)
	}

	// synchronous = NORMAL: see the package's comment. Every 16 MB the log is folded into
	// the file, which costs two flushes of the device while callers wait; a log that
	// a long read has let grow is cut to that size then.
	db, err := sql.Open("sqlite",
		source(path, "&_pragma=synchronous(NORMAL)&_pragma=journal_size_limit(16777216)&_pragma=wal_autocheckpoint(4000)"))
	if err != nil {
		return nil, errors.Join(s.toAPIError("open", err), s.file.Close())
	}

	s.w, err = s.newWriter(ctx, db)
	if err != nil {
		return nil, errors.Join(s.toAPIError("open", err), db.Close(), s.file.Close())
	}
	if s.reads, err = sql.Open("sqlite", source(path, "&_query_only=1")); err != nil {
		return nil, errors.Join(s.toAPIError("open", err), db.Close(), s.file.Close())
	}

	s.reads.SetMaxOpenConns(readers)
	s.reads.SetMaxIdleConns(readers)
	s.writing.Go(s.w.loop)
	s.close = sync.OnceValue(func() error {
		close(s.closing)
		s.writing.Wait()
		return errors.Join(s.reads.Close(), s.w.close(),
			db.Close(), s.file.Close()) // the last one of SQLite's to close merges the log into the file
	})

	return s, nil
}

// Close waits for writes in progress and closes the file. Calls of Add from then on are refused.
func (s *Store) Close() error { return s.close() }

// ErrClosed is the cause of the errors of a closed store's methods.
var ErrClosed = errors.New("history: closed")

// open fails when the store is closed.
func (s *Store) open() error {
	select {
	case <-s.closing:
		return api.Fail(api.CodeStopping, "%w", ErrClosed)
	default:
		return nil
	}
}

// toAPIError converts an error of SQLite to one that says what it means for the operator.
func (s *Store) toAPIError(what string, err error) error {
	var e *sqlite.Error
	var d damage
	code := 0
	if errors.As(err, &e) {
		code = e.Code() & 0xff // without the extended part
	}

	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), api.HasCode(err, api.CodeConflict):
		return err
	case errors.Is(err, ErrClosed), errors.Is(err, sql.ErrConnDone):
		return api.Fail(api.CodeStopping, "%w", ErrClosed)
	case code == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_NOTADB, errors.As(err, &d):
		return api.Fail(api.CodeInternal,
			"history: %s is damaged (%w); it was not changed: to start a new history, move it away, with its -wal "+
				"and -shm files if there are any, "+
				`and recover its content with "sqlite3 FILE .recover"`, s.path, err)
	case code == sqlite3.SQLITE_CONSTRAINT, errors.Is(err, errDuplicate):
		return api.Refuse(api.CodeBadRequest, "history: %s: this run is in the history already (%w)", what, err)
	case code == sqlite3.SQLITE_FULL:
		return api.Fail(api.CodeHostExhausted,
			"history: %s: %s: no space left on the device: free some (%w)", what, s.path, err)
	case code == 0 && s.open() != nil: // Close ran during a read; database/sql has no named error for that
		return s.open()
	}

	return api.Fail(api.CodeInternal, "history: %s: %s: %w", what, s.path, err)
}
