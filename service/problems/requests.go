package problems

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"syscall"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/blobs"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
)

// A Reader reads the package in archive and writes to out what is kept of it, as problems.Read
// does, which it has another process call: a package may be made to take much time and memory.
type Reader func(ctx context.Context, name string, archive, out *os.File) (Parts, error)

// The bounds of what one key stores.
const (
	defaultProblems = 1000
	maxManifest     = 4 << 20 // bytes of one: a response has it in memory
)

// Problems are the packages of problems that keys have stored, by which runs are judged.
type Problems struct {
	*core.Core
	blobs     *blobs.Blobs
	read      Reader
	store     *Store       // nil: none are stored
	pending   *quota.Pool  // packages that are being put
	reads     *queue.Queue // for the process that reads packages
	verifying *quota.Pool  // packages that are being verified
	sending   *quota.Pool  // runs of problems whose blobs are being sent to the agent

	// Execute executes a run of a verification for a key, as a job of a batch.
	Execute func(ctx context.Context, owner string, run api.Run) (api.Result, error)
}

// New opens the store, if there is one.
func New(s *core.Core, b *blobs.Blobs, read Reader) (ps *Problems, err error) {
	ps = &Problems{Core: s, blobs: b, read: read,
		pending: quota.New(quota.PerKey(1)), reads: queue.New(1, s.Config.MaxConns),
		verifying: quota.New(quota.PerKey(1)), sending: quota.New(quota.PerKey(1))}
	if ps.Config.Problems == "" || read == nil {
		return ps, nil
	}
	var damaged []error
	ps.store, damaged, err = Open(ps.Config.Problems)
	for _, d := range damaged {
		ps.Log.Error("stored problem cannot be read: put it again", "err", d)
	}
	return ps, err
}

// opened returns the store, or the error that there is none.
func (ps *Problems) opened() (*Store, error) {
	if ps.store == nil {
		return nil, api.Refuse(api.CodeUnsupported,
			"this service stores no problems: have the operator start it with a data directory")
	}
	return ps.store, nil
}

// ReaderMemory is the most memory of the process that reads packages, of which there is one at a time.
func (ps *Problems) ReaderMemory() api.Size {
	if ps.store == nil {
		return 0
	}
	return ReaderMemory
}

// putProblem stores a package of a problem. A package that is wrong changes nothing.
func (ps *Problems) putProblem(w http.ResponseWriter, r *http.Request) error {
	store, err := ps.opened()
	if err != nil {
		return err
	}

	c, name := core.CallerOf(r.Context()), r.PathValue("name")
	if err := api.ProblemName(name); err != nil {
		return err
	}

	ctx, done, err := ps.Track(r)
	if err != nil {
		return err
	}
	defer done()

	if err := ps.pending.Acquire(ctx, c.Name, 1, ps.Config.Wait); errors.Is(err, quota.ErrFull) {
		return core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy, "another package of this key is being stored and takes long: send this one again later"))
	} else if err != nil {
		return err
	}
	defer ps.pending.Release(c.Name, 1)

	// The quota is asked before the body is received: a key that may store no more need not send it.
	draft, err := store.Begin(c.Name, name, func(own, all Usage, more int64) error {
		return checkProblemQuota(c, own, all, more, ps.Config.MaxProblems, ps.Config.Keys.Multiple())
	})
	if err != nil {
		return diskError(err)
	}
	defer func() {
		if err := draft.Close(); err != nil {
			ps.Log.Error("package not removed", "key", c.Name, "problem", name, "err", err)
		}
	}()

	// Until the package is read and found right, nothing of the draft is seen, and Close removes it. So a
	// package of the same name stays as it is.
	if err := ps.receivePackage(w, r, draft); err != nil {
		return err
	}

	stored, err := ps.readPackage(ctx, c, name, draft)
	if err != nil {
		return diskError(err)
	}
	defer stored.Close()

	ps.Log.Info("problem stored", "key", c.Name, "problem", name, "digest", stored.About().Digest)
	return ps.replyProblem(w, r, stored)
}

// receivePackage writes the body of a request to the draft.
func (ps *Problems) receivePackage(w http.ResponseWriter, r *http.Request, draft *Draft) error {
	body, err := ps.LimitedBody(w, r, ps.Config.MaxBlob)
	if err != nil {
		return err
	}
	defer body.Release()

	in := &core.ReservingReader{CountingReader: body, Reserve: draft.Reserve, Reserved: max(r.ContentLength, 0)}
	if err := draft.Reserve(in.Reserved); err != nil {
		return err
	}

	_, err = io.Copy(draft.Archive, in)
	switch {
	case in.Err != nil:
		return in.Err
	case body.Err != nil && !errors.Is(body.Err, io.EOF):
		return body.Reason(api.Refuse(api.CodeBadRequest, "the request ended early: %w", body.Err))
	case err != nil:
		return diskError(err)
	}

	return nil
}

// readPackage has the package read, and stores it. One is read at a time; the keys alternate.
func (ps *Problems) readPackage(ctx context.Context, c core.Caller, name string,
	draft *Draft) (*Stored, error) {
	slot, err := ps.reads.Take(ctx, queue.Owner{Key: c.Name})
	if err != nil {
		return nil, err
	}
	defer slot.Release()

	parts, err := ps.read(ctx, name, draft.Archive, draft.Out)
	if err != nil {
		return nil, err
	}

	contents, text, err := draft.Contents(parts)
	if err != nil {
		return nil, err
	}

	var cost core.BodyCost
	cost.Add(text)
	memory := contents + cost.Total
	switch blobs := c.MaxBlobs(); {
	case memory > ps.MaxOfBody():
		return nil, api.Refuse(api.CodeTooLarge,
			"a run of the package would take %s of memory, and runs get %s: split its tests into several packages, "+
				"or have the operator raise --max-body", api.Size(memory), api.Size(ps.MaxOfBody()))
	case parts.Manifest > maxManifest:
		return nil, api.Refuse(api.CodeTooLarge,
			"the package says too much about its files: what brig problem show --json prints has %s, and the maximum is %s",
			api.Size(parts.Manifest), api.Size(maxManifest))
	case parts.Blobs > int64(blobs):
		return nil, api.Refuse(api.CodeTooLarge,
			"the large files of its tests have %s, and the blobs of this key may have %s: have the operator raise "+
				"blobs of the key", api.Size(parts.Blobs), blobs)
	}

	return draft.Commit(parts, memory)
}

// diskError gives the error of a full disk its own code.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return api.Fail(api.CodeHostExhausted,
			"store the package: no space left on the device: try again later, or have the operator free some space (%w)", err)
	}
	return err
}

// checkProblemQuota returns an error if a key may not store one more package: because of the key's own
// limits, because of the limit of all keys, or because that would not be fair to the others. Packages
// stay until they are removed.
func checkProblemQuota(c core.Caller, own, all Usage, more int64, maximum api.Size, others bool) error {
	const ordinary = 16 << 20 // bytes of a package
	number := cmp.Or(c.Problems, defaultProblems)
	switch {
	case own.Number >= number:
		return api.Refuse(api.CodeAboveCeiling,
			"this key has %d stored problems, and its limit is %d: remove one, or have the operator raise problems of the key",
			own.Number, number)
	case c.ProblemBytes > 0 && own.Bytes+more > int64(c.ProblemBytes):
		return api.Refuse(api.CodeAboveCeiling,
			"the stored problems of this key may have %s, and with this one they would have more than that: remove "+
				"one, or have the operator raise problem_bytes of the key", c.ProblemBytes)
	case all.Bytes+more > int64(maximum):
		return api.Refuse(api.CodeAboveCeiling,
			"all stored problems together may have %s: remove one, or have the operator raise --max-problems", maximum)
	case c.ProblemBytes == 0 && others && !quota.Fair(own.Bytes, all.Bytes, more, int64(maximum), ordinary):
		return api.Refuse(api.CodeAboveCeiling,
			"the stored problems of this key have %s of the %s that all may have, and the rest is kept for other "+
				"keys: remove one, or have the operator set a limit for the key (problem_bytes)", api.Size(own.Bytes), maximum)
	}

	return nil
}

// replyProblem answers with a package and its manifest.
func (ps *Problems) replyProblem(w http.ResponseWriter, r *http.Request, p *Stored) error {
	with, release, err := ps.AcquireRead(r)
	if err != nil {
		return err
	}
	defer release()
	about := p.About()
	if about.Manifest, err = p.Manifest(); err != nil {
		return err
	}
	ps.Reply(w, with, http.StatusOK, about)
	return nil
}

func (ps *Problems) getProblem(w http.ResponseWriter, r *http.Request) error {
	store, err := ps.opened()
	if err != nil {
		return err
	}
	p, err := store.Find(core.CallerOf(r.Context()).Name, r.PathValue("name"))
	if err != nil {
		return err
	}
	defer p.Close()
	return ps.replyProblem(w, r, p)
}

func (ps *Problems) getProblems(w http.ResponseWriter, r *http.Request) error {
	store, err := ps.opened()
	if err != nil {
		return err
	}
	ps.Reply(w, r, http.StatusOK, api.Page[api.StoredProblem]{Items: store.List(core.CallerOf(r.Context()).Name)})
	return nil
}

func (ps *Problems) deleteProblem(w http.ResponseWriter, r *http.Request) error {
	store, err := ps.opened()
	if err != nil {
		return err
	}
	c, name := core.CallerOf(r.Context()), r.PathValue("name")
	if err := store.Remove(c.Name, name); err != nil {
		return err
	}
	ps.Log.Info("problem removed", "key", c.Name, "problem", name)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
