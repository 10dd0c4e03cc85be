package worker

import "context"

// slots has room for one token for each slot of an agent.
type slots struct{ tokens chan struct{} }

// take waits for a free slot and takes it. give releases the slot.
func (s *slots) take(ctx context.Context) (give func(), err error) {
	select {
	case s.tokens <- struct{}{}:
		return func() { <-s.tokens }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
