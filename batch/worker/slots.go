package worker

import "context"

// slots are those of an agent, as tokens.
type slots struct{ tokens chan struct{} }

// take takes one, and give gives it back.
func (s *slots) take(ctx context.Context) (give func(), err error) {
	select {
	case s.tokens <- struct{}{}:
		return func() { <-s.tokens }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
