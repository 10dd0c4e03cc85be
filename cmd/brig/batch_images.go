package main

import (
	"cmp"
	"context"
	"time"

	"github.com/brig-sandbox/brig/batch/jetstream"
)

// workersInterval is how often a batch without an agent looks for workers and their images.
const workersInterval = 500 * time.Millisecond

// image is batch.Coordinator.Image. Without an agent here the image is that of the pool's first worker by name which
// has one: image waits for a worker. Workers with another image give jobs back: verdicts of one batch are of one image.
func (b *batchRun) image(ctx context.Context, language string) (digest string, err error) {
	if digest, ok := b.images[language]; ok || b.executor != nil || b.engine == nil {
		return digest, nil
	}
	for said := false; ; said = true {
		all, err := b.engine.Workers(ctx)
		if err != nil {
			b.log.Warn("the engine does not list its workers; asking again", "err", err)
		}
		if name, digest, any := imageOf(all, b.o.engine.pool, language); any {
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

// imageOf is the image of a language at the first worker of a pool that has one, and the language's own name; without
// one the digest is empty. any is false if the pool has no workers.
func imageOf(workers []jetstream.WorkerState, pool, language string) (name, digest string, any bool) {
	for _, w := range workers { // by name
		if w.Pool != pool || w.Draining {
			continue
		}
		any = true
		if name := cmp.Or(w.Aliases[language], language); w.Languages[name] != "" {
			return name, w.Languages[name], true
		}
	}
	return language, "", any
}
