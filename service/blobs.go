package service

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// blobs are the inputs that runs share, and whose they are.
type blobs struct {
	*core
	owners blobOwners
}

// put sends a blob to the agent, which verifies its digest: a caller that can name a blob by
// its digest has once had the content.
func (b *blobs) put(w http.ResponseWriter, r *http.Request) error {
	c, digest := callerOf(r.Context()), r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		return err
	}

	body, err := b.limitedBody(w, r, c.maxBlobs())
	if err != nil {
		return err
	}
	defer body.release()

	if err := b.send(r.Context(), c, digest, r.ContentLength, body); err != nil {
		return body.reason(err)
	}

	w.WriteHeader(http.StatusNoContent)
	return nil
}

// send has the agent store a blob for a caller. size is its size in bytes; below zero: it is not known.
func (b *blobs) send(ctx context.Context, c caller, digest string, size int64, body *countingReader) error {
	agent, _, _ := b.agent.get()
	d, err := b.owners.beginUpload(ctx, c.Name, digest,
		int64(c.maxBlobs()), agent.BlobsMax/10*9) // beyond its full size the agent itself would choose what to evict
	if err != nil {
		return err
	}

	in := &reservingReader{countingReader: body, reserve: func(n int64) error { return b.reserve(d, n) }}
	if err = in.reserve(max(size, 0)); err == nil {
		in.reserved = max(size, 0)
		err = b.cfg.Agent.SendBlob(ctx, digest, in)
	}
	if in.err != nil {
		err = in.err
	}
	if err != nil {
		b.remove(d.cancel())
		return err
	}

	d.stored(body.n)
	return nil
}

// reserve reserves space for a blob of n bytes before they are sent: a blob that is being
// uploaded is already on the agent's disk.
func (b *blobs) reserve(d *upload, n int64) error {
	evicted, err := d.reserve(n)
	b.remove(evicted)
	var busy *api.Error
	if errors.As(err, &busy) && busy.Code == api.CodeBusy {
		return problem(http.StatusTooManyRequests, busy)
	}
	return err
}

// remove has the agent remove contents. If that fails, the agent's own limit evicts the
// content later.
func (b *blobs) remove(digests []string) {
	for _, digest := range digests {
		ctx, cancel := context.WithTimeout(b.kill, removeTimeout) // also after the caller has left
		if err := b.cfg.Agent.RemoveBlob(ctx, digest); err != nil {
			b.log.Warn("blob not removed", "digest", digest, "err", err)
		}
		cancel()
		b.owners.removed(digest)
	}
}

// removeTimeout is the timeout for one blob: thousands may have to be removed for a large one.
var removeTimeout = 10 * time.Second // shorter in tests

// has answers whether the caller need not send the blob.
func (b *blobs) has(w http.ResponseWriter, r *http.Request) error {
	digest := r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		return err
	}
	if !b.owners.has(callerOf(r.Context()).Name, digest) {
		return noBlobError(digest)
	}

	switch has, err := b.cfg.Agent.HasBlob(r.Context(), digest); { // the agent evicts blobs that were unused for long
	case err != nil:
		return err
	case !has:
		return noBlobError(digest)
	}

	w.WriteHeader(http.StatusNoContent)
	return nil
}

func noBlobError(digest string) error {
	return api.Refuse(api.CodeNoBlob,
		"blob %.64s is not stored here, or was removed: PUT /v1/blobs/%.64s and send the run again", digest, digest)
}

func (b *blobs) routes() []route {
	return []route{
		{method: "PUT", path: "/v1/blobs/{digest}", name: "putBlob", agent: true, fails: []int{413}, group: "Blobs",
			summary: "Store an input that several runs use",
			about:   "digest is the sha256 of the body in hex. Runs name it in blob, stdin_blob and expected_blob. If a key has too much, its least recently used blobs are removed.",
			serve:   b.put, raw: "application/octet-stream", status: http.StatusNoContent},
		{method: "HEAD", path: "/v1/blobs/{digest}", name: "hasBlob", agent: true, fails: []int{404}, group: "Blobs",
			summary: "Whether a blob is stored, and need not be sent",
			serve:   b.has, status: http.StatusNoContent},
	}
}

// pin keeps blobs of a key.
func (b *blobs) pin(owner string, digests []string) (unpin func(), err error) {
	unpin, missing := b.owners.pin(owner, digests)
	if missing != "" {
		return nil, noBlobError(missing)
	}
	return unpin, nil
}
