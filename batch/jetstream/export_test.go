package jetstream

import (
	"context"
	"errors"
)

// Wipe removes what the engine has, as a server does that lost its data.
func (e *Engine) Wipe(ctx context.Context) error {
	return errors.Join(e.js.DeleteStream(ctx, jobsStream), e.js.DeleteStream(ctx, resultsStream), e.js.DeleteKeyValue(ctx, workersBucket), e.js.DeleteObjectStore(ctx, blobsBucket))
}
