package blobs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// takeTimeout is the timeout for the files of one run.
const takeTimeout = time.Minute

// TakeCollected makes the files of a result blobs of a caller, under the rules of what it uploads: they count for its
// quota, and only it can name them. Most of them the agent has kept already; for those for which it had no room, others
// are evicted. A file that the caller may not keep is in res.Skipped, with the reason; the error is the first such reason.
func (b *Blobs) TakeCollected(c core.Caller, res *api.Result) (refused error) {
	ctx, cancel := context.WithTimeout(b.Kill, takeTimeout) // also if the caller has left: what the agent has kept needs an owner
	defer cancel()

	var kept []api.File
	for _, f := range res.Files {
		digest, size := f.Blob, int64(f.Size)
		var err error
		if digest == "" {
			digest, size, err = b.sendCollected(ctx, c, f.Content)
		} else {
			err = b.take(ctx, c, digest, size)
		}
		if err != nil {
			refused = cmp.Or(refused, err)
			p, _ := core.ProblemFor(err)
			res.Skipped = append(res.Skipped, api.Skipped{Name: f.Name, Reason: "not kept as a blob: " + p.Detail})
			continue
		}
		kept = append(kept, api.File{Name: f.Name, Blob: digest, Size: api.Size(size), Executable: f.Executable})
	}
	res.Files = kept
	return refused
}

// sendCollected has the agent store the content of a file for a caller.
func (b *Blobs) sendCollected(ctx context.Context, c core.Caller, content []byte) (digest string, size int64, err error) {
	size = int64(len(content))
	if err := b.mayKeep(c, size); err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	return digest, size, b.Send(ctx, c, digest, size, &core.CountingReader{Reader: bytes.NewReader(content)})
}

// take counts a blob that the agent has stored as the caller's, or has it removed.
func (b *Blobs) take(ctx context.Context, c core.Caller, digest string, size int64) error {
	agent, _, _ := b.Agent.Get()
	d, err := b.Owners.beginUpload(ctx, c.Name, digest, int64(c.MaxBlobs()), agent.BlobsMax/10*9)
	if err != nil {
		return err
	}

	if err = b.mayKeep(c, size); err == nil {
		err = b.reserve(d, size)
	}
	if err == nil {
		var has bool
		// Another key's blob of the same content may have been removed since, or the agent had to evict what nobody used.
		if has, err = b.Config.Agent.HasBlob(ctx, digest); err == nil && !has {
			err = api.Refuse(api.CodeNoBlob, "it was removed before it was counted: run the program again")
		}
	}
	if err != nil {
		b.remove(d.cancel())
		return err
	}
	d.stored(size)
	return nil
}

// mayKeep refuses a blob that is too large for a caller.
func (b *Blobs) mayKeep(c core.Caller, size int64) error {
	if maximum := min(b.Config.MaxBlob, c.MaxBlobs()); size > int64(maximum) {
		return api.Refuse(api.CodeTooLarge,
			"the file has %s, and this key may keep %s: have the operator raise --max-blob, or blobs of the key",
			api.Size(size), maximum)
	}
	return nil
}
