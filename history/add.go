package history

import (
	"context"

	"github.com/brig-sandbox/brig/api"
)

// Add stores a finished run and returns when it is committed. A second record of the
// same id is refused. If ctx ends first, the record may be stored nevertheless.
func (s *Store) Add(ctx context.Context, r api.Record) error {
	if err := checkRecord(&r); err != nil {
		return err
	}
	kept := fit(r, int(s.keep.Stream))
	return s.hand(ctx, job{run: &kept})
}

// settle has every arrival moved to where readers look, and says where that is. What cannot
// be moved, as on a full device, is read with the rest from both places, which is slow.
func (s *Store) settle(ctx context.Context) (from string, err error) {
	if !s.unmoved.Load() {
		return filed, s.open()
	}
	err = s.hand(ctx, job{})
	if err != nil && s.open() == nil && ctx.Err() == nil {
		return unfiled, nil
	}
	return filed, err
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
