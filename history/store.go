package history

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/brig-sandbox/brig/api"
)

// Keep bounds a store, all owners together. Beyond it the oldest go, in the order in which
// they were added, of the owner who has most: who has little keeps it, whatever others do.
// The zero value of each field is its default.
type Keep struct {
	Runs   int      // zero means 100,000
	Stream api.Size // of each stream of a run; zero means 64 KiB, which is also the most
	Bytes  api.Size // of all runs together; zero means 4 GiB, the least is 1 MiB
	Alerts int      // zero means 10,000
}

func (k Keep) orDefault() (Keep, error) {
	if k.Runs == 0 {
		k.Runs = 100_000
	}
	if k.Stream == 0 {
		k.Stream = KeepStream
	}
	if k.Bytes == 0 {
		k.Bytes = 4 * api.GiB
	}
	if k.Alerts == 0 {
		k.Alerts = 10_000
	}
	switch {
	case k.Runs < 0, k.Alerts < 0:
		return k, api.Refuse(api.CodeBadRequest, "history: keep %d runs and %d alerts: neither may be negative", k.Runs, k.Alerts)
	case k.Stream < 0 || k.Stream > KeepStream:
		return k, api.Refuse(api.CodeBadRequest, "history: keep %d bytes of a stream: the most is %d", k.Stream, KeepStream)
	case k.Bytes < api.MiB:
		return k, api.Refuse(api.CodeBadRequest, "history: keep %d bytes of all runs: the least is %d", k.Bytes, api.MiB)
	}
	return k, nil
}

// readers is the most queries at a time; each has a page cache of 2 MB.
const readers = 4

// A Store is an open history, safe for use by many goroutines.
type Store struct {
	path  string
	keep  Keep // immutable
	reads *sql.DB
	w     *writer // its goroutine's, until that has ended

	jobs    chan job
	unmoved atomic.Bool   // there are arrivals; set by the writer before it answers
	closing chan struct{} // closed by Close
	close   func() error  // once
	writing sync.WaitGroup
}

// Open opens the history at path, or begins one, readable by its owner alone. A file
// that is damaged, of a newer brig or another program's is refused and left as it is.
// Two stores of one file, in one process or two, are a mistake: each would keep
// its own account of what there is.
func Open(ctx context.Context, path string, keep Keep) (*Store, error) {
	keep, err := keep.orDefault()
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, keep: keep, jobs: make(chan job), closing: make(chan struct{})}
	if err := create(path); err != nil {
		return nil, s.failed("open", err)
	}
	// synchronous = NORMAL: see the package's comment. Every 16 MB the log is folded into
	// the file, which costs two flushes of the device while callers wait; a log that
	// a long read has let grow is cut to that size then.
	db, err := sql.Open("sqlite", source(path, "&_pragma=synchronous(NORMAL)&_pragma=journal_size_limit(16777216)&_pragma=wal_autocheckpoint(4000)"))
	if err != nil {
		return nil, s.failed("open", err)
	}
	s.w, err = s.newWriter(ctx, db)
	if err != nil {
		return nil, errors.Join(s.failed("open", err), db.Close())
	}
	if s.reads, err = sql.Open("sqlite", source(path, "&_query_only=1")); err != nil {
		return nil, errors.Join(s.failed("open", err), db.Close())
	}
	s.reads.SetMaxOpenConns(readers)
	s.reads.SetMaxIdleConns(readers)
	s.writing.Go(s.w.loop)
	s.close = sync.OnceValue(func() error {
		close(s.closing)
		s.writing.Wait()
		return errors.Join(s.reads.Close(), s.w.close(), db.Close()) // the last one folds the log into the file
	})
	return s, nil
}

// Close waits for what is being written and closes the file. Whoever calls Add then
// or later is refused.
func (s *Store) Close() error { return s.close() }

// ErrClosed is what a closed store's methods fail with.
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

// failed says what an error of SQLite's means to whoever runs the service.
func (s *Store) failed(what string, err error) error {
	var e *sqlite.Error
	var d damage
	code := 0
	if errors.As(err, &e) {
		code = e.Code() & 0xff // without the extended part
	}
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, ErrClosed), errors.Is(err, sql.ErrConnDone):
		return api.Fail(api.CodeStopping, "%w", ErrClosed)
	case code == sqlite3.SQLITE_CORRUPT, code == sqlite3.SQLITE_NOTADB, errors.As(err, &d):
		return api.Fail(api.CodeInternal, "history: %s is damaged (%w); nothing of it was changed: move it away, with its -wal and -shm files if there are any, to begin a new history, "+
			`and rescue what is in it by "sqlite3 FILE .recover"`, s.path, err)
	case code == sqlite3.SQLITE_CONSTRAINT, errors.Is(err, errKnown):
		return api.Refuse(api.CodeBadRequest, "history: %s: this run is in the history already (%w)", what, err)
	case code == sqlite3.SQLITE_FULL:
		return api.Fail(api.CodeHostExhausted, "history: %s: %s: no room left on the device: free some (%w)", what, s.path, err)
	case code == 0 && s.open() != nil: // a reader whom Close overtook; database/sql has no name for what it says then
		return s.open()
	}
	return api.Fail(api.CodeInternal, "history: %s: %s: %w", what, s.path, err)
}
