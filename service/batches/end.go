package batches

import (
	"context"

	"github.com/brig-sandbox/brig/api"
)

// End cancels the batches of an owner that a request names, and waits until they have ended or ctx is done. It
// returns how many it canceled. One that cannot be stored as canceled is canceled, and counts; err says so.
// A label can be guessed: the batches of another key go on (TestEndOfARun).
func (s *Store) End(ctx context.Context, owner string, e api.EndRequest) (canceled int, err error) {
	var ending []*Batch
	for _, b := range s.List(owner) {
		if !e.Has(b.labels) || b.hasEnded() || b.isCanceled() {
			continue
		}
		if cerr := b.Cancel(); cerr != nil {
			err = cerr
		}
		if b.isCanceled() {
			ending = append(ending, b)
		}
	}

	for _, b := range ending {
		b.wait(ctx)
	}
	return len(ending), err
}

// wait waits until each job has its result, or ctx is done.
func (b *Batch) wait(ctx context.Context) {
	for {
		b.mu.Lock()
		ended, changed := !b.ended.IsZero() || b.gone, b.changed
		b.mu.Unlock()
		if ended {
			return
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// End is Store.End for the batches of the service, if it takes any.
func (bs *Batches) End(ctx context.Context, owner string, e api.EndRequest) (int, error) {
	if bs.Store == nil {
		return 0, nil
	}
	return bs.Store.End(ctx, owner, e)
}
