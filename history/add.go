package history

import "context"

// Add stores a finished run and returns when it is committed. A second record of the
// same id is refused. If ctx ends first, the record may be stored nevertheless.
func (s *Store) Add(ctx context.Context, r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	kept := r.fit(int(s.keep.Stream))
	return s.hand(ctx, job{run: &kept})
}

// settle has every arrival moved to where readers look.
func (s *Store) settle(ctx context.Context) error {
	if !s.unmoved.Load() {
		return s.open()
	}
	return s.hand(ctx, job{})
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
