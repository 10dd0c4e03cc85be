package problems

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade"
	"github.com/brig-sandbox/brig/judge/grade/verify"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/quota"
)

// verifyProblem runs all programs of a stored package. A key verifies one at a time: its runs come one
// after the other, and get slots that no other request can have, as jobs of batches do.
func (ps *Problems) verifyProblem(w http.ResponseWriter, r *http.Request) error {
	store, err := ps.opened()
	if err != nil {
		return err
	}

	ask, err := ps.verifyRequest(w, r)
	if err != nil {
		return err
	}

	c := core.CallerOf(r.Context())
	p, err := store.Find(c.Name, r.PathValue("name"))
	if err != nil {
		return err
	}
	defer p.Close()

	ctx, done, err := ps.Track(r)
	if err != nil {
		return err
	}
	defer done()

	// A verification has many runs, one after the other. A service that stops does not wait for them: the
	// client sends the request again.
	ctx, stopped := ps.UntilStop(ctx)
	defer stopped()

	if err := ps.verifying.Acquire(ctx, c.Name, 1, time.Millisecond); errors.Is(err, quota.ErrFull) {
		return core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy, "another package of this key is being verified: send this one again later"))
	} else if err != nil {
		return err
	}
	defer ps.verifying.Release(c.Name, 1)

	x := &verification{of: ps, c: c}
	defer x.unpin()

	if !strings.Contains(r.Header.Get("Accept"), core.JSONLines) {
		report, err := x.verify(ctx, p, ask, nil)
		if err != nil {
			return err
		}
		ps.Reply(w, r, http.StatusOK, report)
		return nil
	}

	x.stream(ctx, w, p, ask)
	return nil
}

// verifyRequest reads the body.
func (ps *Problems) verifyRequest(w http.ResponseWriter, r *http.Request) (ask api.VerifyRequest, err error) {
	raw, release, err := ps.ReadBody(w, r)
	if err != nil {
		return ask, err
	}
	defer release()

	if ask, err = core.ParseBodyAs[api.VerifyRequest](ps.Core, r.Context(), raw, "request"); err != nil {
		return ask, err
	}
	if ask.Repeat == 0 {
		ask.Repeat = 1
	}
	if ask.Longest < 0 || ask.Repeat < 0 || ask.Repeat > verify.MaxRepeats {
		return ask, api.Refuse(api.CodeBadRequest, "longest must be positive, and repeat between 1 and %d", verify.MaxRepeats)
	}
	return ask, nil
}

// A verification executes the runs of one package, as runs of its key.
type verification struct {
	of *Problems
	c  core.Caller

	pinned []func()
	sent   map[string]bool // blobs by digest
}

func (x *verification) unpin() {
	for _, one := range x.pinned {
		one()
	}
}

// verificationMemory is what a verification has in memory of the outputs and inputs of one run, in two forms:
// those that are larger are blobs, and read one at a time.
const verificationMemory = 40 << 20

// outcomeMemory is what it keeps of each test of each run.
const outcomeMemory = 4 << 10

// verify reserves memory and verifies the package.
func (x *verification) verify(ctx context.Context, p *Stored, ask api.VerifyRequest,
	progress verify.Progress) (api.Verification, error) {
	ps := x.of
	about, tree, err := p.Package()
	if err != nil {
		return api.Verification{}, err
	}
	defer tree.Close()

	largest := int64(0)
	for _, name := range tree.Names() {
		largest = max(largest, tree.Size(name))
	}

	outcomes := int64(len(about.Jury)*(len(about.Tests)+1)) * int64(max(ask.Repeat, grade.NoiseRuns))
	memory := 2*p.Memory() + 2*largest + verificationMemory + outcomes*outcomeMemory
	if memory > ps.MaxOfBody() {
		return api.Verification{},
			api.Refuse(api.CodeTooLarge,
				"verifying the package would take %s of memory, and this key gets %s: use brig problem verify, or "+
					"have the operator raise --max-body", api.Size(memory), api.Size(ps.MaxOfBody()))
	}

	reserved := ps.BodyQuota.Reserve(x.c.Name, core.LargeBodyMin)
	defer reserved.Release()

	if err := reserved.Grow(ctx, memory, ps.Config.Wait); errors.Is(err, quota.ErrFull) {
		return api.Verification{},
			core.Problem(http.StatusTooManyRequests,
				api.Fail(api.CodeBusy, "the memory for large requests is full of other requests: send it again later"))
	} else if err != nil {
		return api.Verification{}, err
	}

	loader := grade.Loader{Problem: about, Tree: tree,
		Put: func(file string, content []byte) (string, error) { return x.put(ctx, content) }}
	common, err := loader.Common()
	if err != nil {
		return api.Verification{}, err
	}

	health, _, _ := ps.Agent.Get() // without it the runs fail
	return verify.Package(ctx, x, loader, common,
		verify.Options{Longest: ask.Longest, Ceiling: health.Ceiling, Repeat: ask.Repeat, Progress: progress})
}

// put makes the agent keep a blob of the key while the verification lasts.
func (x *verification) put(ctx context.Context, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	if x.sent[digest] {
		return digest, nil
	}
	if err := x.of.blobs.Send(ctx, x.c, digest, int64(len(content)),
		&core.CountingReader{Reader: bytes.NewReader(content)}); err != nil {
		return "", err
	}

	unpin, missing := x.of.blobs.Owners.Pin(x.c.Name, []string{digest})
	if missing != "" {
		return "", core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy,
				"other blobs of this key took the place of those of the problem: verify it again later, or have the "+
					"operator raise blobs of the key"))
	}
	if x.sent == nil {
		x.sent = map[string]bool{}
	}

	x.sent[digest], x.pinned = true, append(x.pinned, unpin)
	return digest, nil
}

// Language is for verify.
func (x *verification) Language(_ context.Context, name string) (api.Language, error) {
	_, languages, err := x.of.Agent.Get()
	if err != nil {
		return api.Language{}, err
	}

	i := slices.IndexFunc(languages,
		func(l api.Language) bool { return l.Name == name || slices.Contains(l.Aliases, name) })
	if i < 0 {
		return api.Language{}, api.Refuse(api.CodeNoLanguage, "there is no language %.80q", name)
	}
	if l := languages[i]; !l.Stored {
		return l, fmt.Errorf("image %s of %s is not stored", l.Image, l.Name)
	}
	return languages[i], nil
}

// verifyAttempts is how often a run is tried if brig failed, which says nothing about the package.
const verifyAttempts = 3

// Execute is for verify. Output of the programs is not needed, and not kept.
func (x *verification) Execute(ctx context.Context, r api.Run, test func()) (res api.Result, failed *api.Error) {
	for attempt := 1; ; attempt++ {
		res, err := x.of.Execute(ctx, x.c.Name, r)
		if err == nil {
			for i := range res.Tests {
				if test != nil {
					test()
				}
				res.Tests[i].Result.Stdout, res.Tests[i].Result.Stderr, res.Tests[i].Output = nil, nil, nil
			}
			return res, nil
		}

		if !errors.As(err, &failed) {
			failed = api.Fail(api.CodeInternal, "%w", err)
		}
		if ctx.Err() != nil || !failed.RetrySafe || attempt == verifyAttempts {
			return res, failed
		}
	}
}

// verifyBeat is the time between two lines that only show that the verification goes on.
const verifyBeat = 10 * time.Second

// stream sends a line after each run, and the report in the last line.
func (x *verification) stream(ctx context.Context, w http.ResponseWriter, p *Stored, ask api.VerifyRequest) {
	h := w.Header()
	h.Set("Content-Type", core.JSONLines)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer the lines
	h.Set("X-Content-Type-Options", "nosniff")
	core.SetWriteDeadline(w)
	w.WriteHeader(http.StatusOK)
	out := core.NewLineStream(w)
	var mu sync.Mutex
	send := func(line *api.VerifyLine) {
		mu.Lock()
		defer mu.Unlock()

		if line == nil {
			_ = out.Beat() // if the client has left, ctx ends
			return
		}

		text, err := json.Marshal(line)
		if err != nil { // only a bug of this module
			x.of.Log.Error("encode a line of a verification", "err", err)
			return
		}

		_, _ = out.Write(append(text, '\n'))
		_ = out.Flush()
	}

	beating, stop := context.WithCancel(ctx)
	var beats sync.WaitGroup
	beats.Go(func() {
		for {
			select {
			case <-time.After(verifyBeat):
				send(nil)
			case <-beating.Done():
				return
			}
		}
	})

	ended := 0
	report, err := x.verify(ctx, p, ask, func(runs, _ int) (func(int) (func(), func()), func()) {
		before := ended
		return func(int) (func(), func()) {
			return func() {}, func() { ended++; send(&api.VerifyLine{Ended: ended, Runs: before + runs}) }
		}, func() {}
	})

	stop()
	beats.Wait()
	last := &api.VerifyLine{End: true, Verification: &report}
	if err != nil {
		said := x.of.CountedProblem(err)
		last = &api.VerifyLine{End: true, Error: &api.Error{Code: said.Code, Message: said.Detail, RetrySafe: said.RetrySafe}}
	}

	send(last)
}
