// Package contents keeps what jobs name by digest, such as the data of tests.
package contents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/jetstream"
	"github.com/brig-sandbox/brig/internal/cache"
)

// A Store keeps contents on the disk of this machine and, with an engine, where workers on others find them. Get may be
// called by any number of goroutines; the other methods by one at a time.
type Store struct {
	Disk   *cache.Cache
	Dir    string            // where the disk's files are, for errors
	Engine *jetstream.Engine // nil: none, so all workers are in this process

	put map[string]bool // the digests of what Put was called with
}

// Get returns content from the disk, or from the engine, of which it then keeps a copy. Without such content its error
// has the code CodeNoBlob.
func (s *Store) Get(ctx context.Context, digest string) ([]byte, error) {
	content, err := s.Disk.Get(digest)
	if !errors.Is(err, cache.ErrNotFound) {
		return content, err
	}
	if s.Engine != nil {
		content, err = s.Engine.Blob(ctx, digest)
	}
	if errors.Is(err, jetstream.ErrNoBlob) || errors.Is(err, cache.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoBlob, "the blob %s is not known: send it before the job", digest)
	}
	if err != nil {
		return nil, err
	}
	return content, s.Disk.PutBlob(digest, digest, bytes.NewReader(content))
}

// Put keeps content where the workers find it, and returns its digest.
func (s *Store) Put(ctx context.Context, content []byte) (digest string, err error) {
	digest = batch.ContentDigest(content)
	if s.put == nil {
		s.put = map[string]bool{}
	}
	s.put[digest] = true

	if !s.Disk.Has(digest) {
		if err := s.Disk.PutBlob(digest, digest, bytes.NewReader(content)); err != nil {
			return "", err
		}
	}
	if s.Engine == nil {
		return digest, nil
	}
	return s.Engine.PutBlob(ctx, content)
}

// PutRun keeps what jobs have in common, and the large contents in it apart. It returns the digest of the run.
func (s *Store) PutRun(ctx context.Context, r api.Run) (digest string, err error) {
	if r, err = s.Apart(ctx, r); err != nil {
		return "", err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	return s.Put(ctx, text)
}

// Apart keeps the large contents of a run, and returns the run with their digests in their place.
func (s *Store) Apart(ctx context.Context, r api.Run) (api.Run, error) {
	return batch.WithBlobs(r, func(content []byte) (string, error) { return s.Put(ctx, content) })
}

// KeepAgain gives the engine what it may have lost, of all that Put has kept. This process has it on disk: it is an error
// if that has gone.
func (s *Store) KeepAgain(ctx context.Context) error {
	if s.Engine == nil {
		return nil
	}

	for digest := range s.put {
		content, err := s.Disk.Get(digest)
		if err != nil {
			return fmt.Errorf("the content %s of jobs has gone from %s: %w", digest, s.Dir, err)
		}
		if _, err = s.Engine.PutBlob(ctx, content); err != nil {
			return err
		}
	}

	return nil
}
