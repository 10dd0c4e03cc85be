package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/brig-sandbox/brig/api"
)

// keeping makes what collects files keep them as blobs of its caller, if that is asked for.
func (s *Server) keeping(c api.Collect, do runFunc) runFunc {
	if !c.Blobs || s.cfg.Blobs == nil {
		return do
	}
	return func(ctx context.Context, io api.Streams, c api.Caller) (api.Result, error) {
		res, err := do(ctx, io, c)
		if err == nil {
			s.keepFiles(res.Files, c)
		}
		return res, err
	}
}

// keepFiles stores files as blobs. One for which the store has no room stays in the result with its content: by what a
// program leaves, no caller evicts the blobs of another (API-14, TestCollectedFilesEvictNothing).
func (s *Server) keepFiles(files []api.File, c api.Caller) {
	for i := range files {
		f := &files[i]
		if len(f.Content) > int(s.cfg.MaxBlob) {
			continue
		}

		sum := sha256.Sum256(f.Content)
		digest := hex.EncodeToString(sum[:])
		kept, err := s.cfg.Blobs.Offer(ownBlob(digest, c), f.Content)
		if err != nil {
			s.log.Warn("collected file not kept as a blob: it is in the result", "err", err)
		}
		if kept {
			f.Blob, f.Size, f.Content = digest, api.Size(len(f.Content)), nil
		}
	}
}
