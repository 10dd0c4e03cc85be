// Package blobs stores inputs that several runs use, in the agent, and knows whose they are.
package blobs

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/openapi"
)

// Blobs are the inputs that runs share, and whose they are.
type Blobs struct {
	*core.Core
	Owners blobOwners
}

// put sends a blob to the agent, which verifies its digest: a caller that can name a blob by
// its digest has once had the content.
func (b *Blobs) put(w http.ResponseWriter, r *http.Request) error {
	c, digest := core.CallerOf(r.Context()), r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		return err
	}

	body, err := b.LimitedBody(w, r, c.MaxBlobs())
	if err != nil {
		return err
	}
	defer body.Release()

	if err := b.Send(r.Context(), c, digest, r.ContentLength, body); err != nil {
		return body.Reason(err)
	}

	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Send has the agent store a blob for a caller. size is its size in bytes; below zero: it is not known.
func (b *Blobs) Send(ctx context.Context, c core.Caller, digest string, size int64, body *core.CountingReader) error {
	agent, _, _ := b.Agent.Get()
	d, err := b.Owners.beginUpload(ctx, c.Name, digest,
		int64(c.MaxBlobs()), agent.BlobsMax/10*9) // beyond its full size the agent itself would choose what to evict
	if err != nil {
		return err
	}

	in := &core.ReservingReader{CountingReader: body, Reserve: func(n int64) error { return b.reserve(d, n) }}
	if err = in.Reserve(max(size, 0)); err == nil {
		in.Reserved = max(size, 0)
		err = b.Config.Agent.SendBlob(ctx, digest, in)
	}
	if in.Err != nil {
		err = in.Err
	}
	if err != nil {
		b.remove(d.cancel())
		return err
	}

	d.stored(body.N)
	return nil
}

// reserve reserves space for a blob of n bytes before they are sent: a blob that is being
// uploaded is already on the agent's disk.
func (b *Blobs) reserve(d *upload, n int64) error {
	evicted, err := d.reserve(n)
	b.remove(evicted)
	var busy *api.Error
	if errors.As(err, &busy) && busy.Code == api.CodeBusy {
		return core.Problem(http.StatusTooManyRequests, busy)
	}
	return err
}

// remove has the agent remove contents. If that fails, the agent's own limit evicts the
// content later.
func (b *Blobs) remove(digests []string) {
	for _, digest := range digests {
		ctx, cancel := context.WithTimeout(b.Kill, removeTimeout) // also after the caller has left
		if err := b.Config.Agent.RemoveBlob(ctx, digest); err != nil {
			b.Log.Warn("blob not removed", "digest", digest, "err", err)
		}
		cancel()
		b.Owners.removed(digest)
	}
}

// removeTimeout is the timeout for one blob: thousands may have to be removed for a large one.
var removeTimeout = 10 * time.Second // shorter in tests

// has answers whether the caller need not send the blob.
func (b *Blobs) has(w http.ResponseWriter, r *http.Request) error {
	digest := r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		return err
	}
	if !b.Owners.has(core.CallerOf(r.Context()).Name, digest) {
		return noBlobError(digest)
	}

	switch has, err := b.Config.Agent.HasBlob(r.Context(), digest); { // the agent evicts blobs that were unused for long
	case err != nil:
		return err
	case !has:
		return noBlobError(digest)
	}

	w.WriteHeader(http.StatusNoContent)
	return nil
}

// get sends the content of a blob of the caller. It goes on if the blob is evicted meanwhile.
func (b *Blobs) get(w http.ResponseWriter, r *http.Request) error {
	digest := r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		return err
	}
	if !b.Owners.has(core.CallerOf(r.Context()).Name, digest) {
		return noBlobError(digest)
	}

	release, err := b.TransferSlot(r)
	if err != nil {
		return err
	}
	defer release()

	out := &core.FileResponse{W: w}
	err = b.Config.Agent.GetBlob(r.Context(), digest, out)
	switch {
	case err != nil && !out.HeadersSent:
		if api.HasCode(err, api.CodeNoBlob) { // the agent evicts blobs that were unused for long
			return noBlobError(digest)
		}
		return err
	case err != nil:
		b.Log.Warn("transfer of a blob failed", "digest", digest, "err", err)
		panic(http.ErrAbortHandler) // the status is sent already: the broken connection tells the client
	case !out.HeadersSent:
		_, err = out.Write(nil) // it is empty
	}
	return err
}

func noBlobError(digest string) error {
	return api.Refuse(api.CodeNoBlob,
		"blob %.64s is not stored here, or was removed: PUT /v1/blobs/%.64s and send the run again", digest, digest)
}

// Routes returns the operations of blobs.
func (b *Blobs) Routes() []openapi.Route {
	return []openapi.Route{
		{Method: "PUT", Path: "/v1/blobs/{digest}", Name: "putBlob", Agent: true, Fails: []int{413}, Group: "Blobs",
			Summary: "Store an input that several runs use",
			About: "digest is the sha256 of the body in hex. Runs name it in blob, stdin_blob and expected_blob. " +
				"Files that runs collect with collect.blobs are blobs, too. " +
				"If a key has too much, its least recently used blobs are removed.",
			Serve: b.put, Raw: "application/octet-stream", Status: http.StatusNoContent},
		{Method: "HEAD", Path: "/v1/blobs/{digest}", Name: "hasBlob", Agent: true, Fails: []int{404}, Group: "Blobs",
			Summary: "Whether a blob is stored, and need not be sent",
			Serve:   b.has, Status: http.StatusNoContent},
		{Method: "GET", Path: "/v1/blobs/{digest}", Name: "getBlob", Agent: true, Fails: []int{404}, Group: "Blobs",
			Summary: "Read a blob",
			About:   "Such as a file that a run collected, with collect.blobs. Only the key whose blob it is can read it.",
			Serve:   b.get, Kind: "application/octet-stream"},
	}
}

// Pin keeps blobs of a key.
func (b *Blobs) Pin(owner string, digests []string) (unpin func(), err error) {
	unpin, missing := b.Owners.Pin(owner, digests)
	if missing != "" {
		return nil, noBlobError(missing)
	}
	return unpin, nil
}
