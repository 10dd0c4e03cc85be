package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// defaultBlobs is what a caller may have where there are no keys.
const defaultBlobs = 1 * api.GiB

// putBlob hands a blob to the agent, which holds it against its digest: whoever
// names one by digest has had its content.
func (g *Gateway) putBlob(w http.ResponseWriter, r *http.Request) error {
	c, digest := callerOf(r.Context()), r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		return err
	}
	bound := c.Blobs
	if bound == 0 {
		bound = defaultBlobs
	}
	body, err := g.boundBody(w, r, bound)
	if err != nil {
		return err
	}
	defer body.leave()
	agent, _, _ := g.agent.get()
	d, err := g.blobs.bring(r.Context(), c.Name, digest, int64(bound), agent.BlobsMax/10*9) // at the whole the agent would choose what goes
	if err != nil {
		return err
	}
	in := &claimed{counted: body, claim: func(n int64) error { return g.claimBlob(d, n) }}
	if err = in.claim(max(r.ContentLength, 0)); err == nil {
		in.has = max(r.ContentLength, 0)
		err = g.cfg.Agent.SendBlob(r.Context(), digest, in)
	}
	if in.err != nil {
		err = in.err
	}
	if err != nil {
		g.removeBlobs(d.failed())
		return body.reason(err)
	}
	d.arrived(body.n)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// claimBlob makes room for a blob of n bytes, before they come: what is on its way is on the
// agent's disk already.
func (g *Gateway) claimBlob(d *delivery, n int64) error {
	gone, err := d.claim(n)
	g.removeBlobs(gone)
	var busy *api.Error
	if errors.As(err, &busy) && busy.Code == api.CodeBusy {
		return problem(http.StatusTooManyRequests, busy)
	}
	return err
}

// removeBlobs has the agent remove contents. One that stays for an error goes later, as
// the agent's own bound has it.
func (g *Gateway) removeBlobs(digests []string) {
	for _, digest := range digests {
		ctx, cancel := context.WithTimeout(g.kill, removeTime) // also for a caller who has left
		if err := g.cfg.Agent.RemoveBlob(ctx, digest); err != nil {
			g.log.Warn("blob not removed", "digest", digest, "err", err)
		}
		cancel()
		g.blobs.removed(digest)
	}
}

// removeTime is for one blob: thousands may have to go for a large one.
var removeTime = 10 * time.Second // tests have less time

// claimStep is how much more room a body of unknown length has at a time.
const claimStep = 1 << 20

// A claimed reader has room for what it hands on.
type claimed struct {
	*counted
	claim func(n int64) error
	has   int64 // bytes there is room for
	err   error // of claim
}

func (c *claimed) Read(p []byte) (int, error) {
	n, err := c.counted.Read(p)
	if c.n > c.has {
		if c.err = c.claim(c.n + claimStep); c.err != nil {
			return 0, c.err
		}
		c.has = c.n + claimStep
	}
	return n, err
}

// A counted reader knows how much came, and why no more did.
type counted struct {
	io.Reader
	n     int64
	err   error
	over  error  // what to say of a larger one
	leave func() // to be called when no more is wanted
}

// boundBody is a body that is passed on as it comes, and no larger than a blob, nor than
// what this caller may have of them: one that is larger would push out all his others,
// and then itself.
func (g *Gateway) boundBody(w http.ResponseWriter, r *http.Request, caller api.Size) (*counted, error) {
	most := g.cfg.MaxBlob
	over := api.Refuse(api.CodeTooLarge, "this is larger than the %s this service takes: have the operator raise --max-blob", most)
	if caller < most {
		most = caller
		over = api.Refuse(api.CodeTooLarge, "this is larger than the %s that all blobs of this key together may have: have the operator raise blobs on it", most)
	}
	if r.ContentLength > int64(most) {
		return nil, over
	}
	leave, err := g.place(r)
	if err != nil {
		return nil, err
	}
	return &counted{Reader: http.MaxBytesReader(w, r.Body, int64(most)), over: over, leave: leave}, nil
}

// reason is why passing it on failed.
func (c *counted) reason(err error) error {
	var over *http.MaxBytesError
	if errors.As(c.err, &over) {
		return c.over
	}
	return err
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// hasBlob says whether the caller need not send it.
func (g *Gateway) hasBlob(w http.ResponseWriter, r *http.Request) error {
	digest := r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		return err
	}
	if !g.blobs.has(callerOf(r.Context()).Name, digest) {
		return noBlob(digest)
	}
	switch has, err := g.cfg.Agent.HasBlob(r.Context(), digest); { // it drops what nobody has used for long
	case err != nil:
		return err
	case !has:
		return noBlob(digest)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func noBlob(digest string) error {
	return api.Refuse(api.CodeNoBlob, "blob %.64s is not here, or no more: PUT /v1/blobs/%.64s and send the run again", digest, digest)
}

// blobsOf lists the digests that a run names.
func blobsOf(r api.Run) []string {
	var all []string
	add := func(d string) {
		if d != "" {
			all = append(all, d)
		}
	}
	add(r.StdinBlob)
	for _, f := range r.Files {
		add(f.Blob)
	}
	for _, t := range r.Tests {
		add(t.StdinBlob)
		add(t.ExpectedBlob)
	}
	return all
}
