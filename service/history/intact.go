package history

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// sqliteMagic begins every file of SQLite (https://www.sqlite.org/fileformat2.html, section 1.3).
const sqliteMagic = "SQLite format 3\x00"

// failureLife is how long a failed write makes the store unable to take runs, if no write succeeds
// meanwhile. After it a run shows whether the cause is gone.
const failureLife = 10 * time.Second

// A failure is a write that failed.
type failure struct {
	err error
	at  time.Time
}

// Health returns why the store cannot record runs now; nil: it can. It reads little and writes nothing.
func (s *Store) Health() error {
	if err := s.intact(); err != nil {
		return err
	}
	if f := s.failed.Load(); f != nil && time.Since(f.at) < failureLife {
		return f.err
	}
	return nil
}

// intact checks that the file is still in its place: SQLite goes on writing into a file that was removed,
// or whose content was replaced, and what it writes is lost.
func (s *Store) intact() error {
	if err := s.open(); err != nil {
		return err
	}

	there, err := os.Stat(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return s.lost("was removed")
	case err != nil:
		return fmt.Errorf("history: %w", err)
	}

	own, err := s.file.Stat()
	if err != nil {
		if closed := s.open(); closed != nil {
			return closed
		}
		return fmt.Errorf("history: %w", err)
	}
	if !os.SameFile(own, there) {
		return s.lost("was replaced")
	}

	var head [len(sqliteMagic)]byte
	if _, err := s.file.ReadAt(head[:], 0); err != nil || string(head[:]) != sqliteMagic {
		return s.lost("was overwritten")
	}
	return nil
}

func (s *Store) lost(how string) error {
	return api.Fail(api.CodeInternal,
		"history: %s %s while the service ran, so that no run is recorded: stop the service, put a copy in its place "+
			"or move it away, and start the service", s.path, how)
}

// note remembers whether the last write failed. An error of the caller is none.
func (s *Store) note(err error) {
	switch {
	case err == nil:
		s.failed.Store(nil)
	case api.HasCode(err, api.CodeHostExhausted, api.CodeInternal):
		s.failed.Store(&failure{err, time.Now()})
	}
}
