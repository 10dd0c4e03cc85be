package batch

import (
	"context"
	"time"

	"github.com/brig-sandbox/brig/batch/jetstream"
)

// workersInterval is how often a batch without an agent looks for workers and their images.
const workersInterval = 500 * time.Millisecond

// image is batch.Coordinator.Image. Without an agent here the image is that which most workers of the pool have: image
// waits for a worker. Workers with another image give jobs back: verdicts of one batch are of one image.
func (b *batchRun) image(ctx context.Context, language string) (digest string, err error) {
	if digest, ok := b.images[language]; ok || b.Executor != nil || b.engine == nil {
		return digest, nil
	}

	for said := false; ; said = true {
		all, err := b.engine.Workers(ctx, b.o.engine.pool)
		if err != nil {
			b.log.Warn("the engine does not list its workers; asking again", "err", err)
		}
		if name, digest, any := jetstream.ImageOf(all, language); any {
			if _, ok := b.images[name]; !ok {
				b.images[name] = digest // empty: no worker has one, and their agents say so
			}
			b.images[language] = b.images[name]
			return b.images[name], nil
		}
		if !said {
			b.log.Warn("waiting for a worker: all jobs are to run in its images", "pool", b.o.engine.pool)
		}

		select {
		case <-time.After(workersInterval):
		case <-b.ctx.Done():
			return "", context.Cause(b.ctx)
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
