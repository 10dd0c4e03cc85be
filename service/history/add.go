package history

import (
	"context"

	"github.com/brig-sandbox/brig/api"
)

// Add stores a finished run and returns when it is committed. A second record with the same id is
// refused. If ctx ends first, the record may still be stored.
func (s *Store) Add(ctx context.Context, r api.Record) error {
	if err := checkRecord(&r); err != nil {
		return err
	}
	if err := s.intact(); err != nil {
		return err
	}
	kept := truncated(r, int(s.limits.Stream))
	return s.commit(ctx, job{run: &kept})
}

// flushJournal moves every arrival into the tables for readers, and returns the SQL source to read from.
// If arrivals cannot be moved, for example on a full device, readers read from both places, which
// is slow.
func (s *Store) flushJournal(ctx context.Context) (from string, err error) {
	if !s.journalPending.Load() {
		return mainTables, s.open()
	}
	err = s.commit(ctx, job{})
	if err != nil && s.open() == nil && ctx.Err() == nil {
		return allTables, nil
	}
	return mainTables, err
}

// commit sends a job to the writer and waits for its answer.
func (s *Store) commit(ctx context.Context, j job) error {
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
		s.note(err)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
