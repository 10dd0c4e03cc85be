package core

import (
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/quota"
)

// An AgentResponse is the agent's response to one request or run. It reserves quota of the service's
// response memory before the response is read, and keeps it until it is released. While there is no
// quota, the response waits in the agent, whose own memory is limited. Only one goroutine at a time
// may use it.
type AgentResponse struct {
	core         *Core
	reservation  *quota.Reservation
	mayThin      bool // a response or piece without quota is read anyway, and thinned when it is complete
	wholeThinned bool // such a response was read
	pieceThinned bool // such a piece was read
	exclusive    bool // the exclusive right to read is held until then

	json    int64 // bytes of the retained pieces
	piece   int64 // bytes of the piece that is being read
	claimed int64 // quota reserved for that piece
}

// NewAgentResponse makes the response to a request or run of a key.
func (s *Core) NewAgentResponse(key string) *AgentResponse {
	return &AgentResponse{core: s, reservation: s.Responses.Reservation(key)}
}

// WithQuota returns a context for calls to the agent. Their responses reserve quota through a.
func (a *AgentResponse) WithQuota(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, agentResponseKey{}, a)
	return client.WithMemoryQuota(ctx, client.MemoryQuota{
		Answer:  func(n int64) (func(), error) { return a.reserveWhole(ctx, n) },
		Chunk:   func(n int64) error { return a.reservePiece(ctx, n) },
		Decoded: a.finishPiece,
	})
}

type agentResponseKey struct{}

// AgentResponseOf returns the response that a context counts for; nil: none.
func AgentResponseOf(ctx context.Context) *AgentResponse {
	a, _ := ctx.Value(agentResponseKey{}).(*AgentResponse)
	return a
}

// reserveWhole reserves quota for a response of n bytes; as a decoded value it is no larger. Large
// responses are read one at a time, because each is in memory twice while it is decoded.
func (a *AgentResponse) reserveWhole(ctx context.Context, n int64) (decoded func(), err error) {
	if n <= LargeResponseMin {
		return func() {}, nil
	}
	if maximum := a.core.Responses.max / 4; n > maximum {
		return nil, responseTooLarge(n, maximum)
	}

	err = growResponse(ctx, a.reservation, n)
	if err != nil && (!a.mayThin || ctx.Err() != nil) {
		return nil, err
	}

	a.wholeThinned = err != nil
	if err := a.acquireReading(ctx); err != nil {
		return nil, err
	}
	if a.wholeThinned { // in memory without quota: no other is read before most of this one is freed
		a.exclusive = true
		return func() {}, nil
	}
	return func() { <-a.core.reading }, nil
}

// ReadLarge waits until a complete response of the service, of n bytes, may be read by the service itself: one that
// does so with a response of its own must not wait for quota, which responses that wait behind it have. As it reads
// none of the agent's meanwhile, the memory is that of those: n bytes, and no more for their value. done ends that; call
// it once.
func (s *Core) ReadLarge(ctx context.Context, n int64) (done func(), err error) {
	if maximum := s.Responses.max / 4; n > maximum {
		return nil, responseTooLarge(n, maximum)
	}

	wait, cancel := context.WithTimeout(ctx, SlowClientTimeout)
	defer cancel()

	select {
	case s.reading <- struct{}{}:
		return func() { <-s.reading }, nil
	case <-wait.Done():
	}

	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, api.Refuse(api.CodeBusy, "the answer has %s, and others were read for %s before it: let the program print "+
		"less, or try again later", api.Size(n), SlowClientTimeout)
}

func (a *AgentResponse) acquireReading(ctx context.Context) error {
	select {
	case a.core.reading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reservePiece reserves quota for n more bytes of a piece, once for the JSON and once for the value. Each
// test of a run is one piece. A test that gets no quota is thinned: otherwise the size of a
// submission's output could cause an error instead of its verdict.
func (a *AgentResponse) reservePiece(ctx context.Context, n int64) error {
	if !a.mayThin {
		return growResponse(ctx, a.reservation, 2*n)
	}

	maximum := a.core.Responses.max / 4
	a.piece += n
	switch {
	case a.exclusive && a.piece > maximum:
		return responseTooLarge(a.piece, maximum)
	case a.exclusive:
		return nil
	case a.json+a.piece <= maximum && a.reserve(ctx, 2*n):
		a.claimed += 2 * n
		return nil
	}

	a.pieceThinned = true
	err := a.acquireReading(ctx)
	a.exclusive = err == nil
	return err
}

// reserve reserves quota for n bytes. Only the first piece that gets none waits for it.
func (a *AgentResponse) reserve(ctx context.Context, n int64) bool {
	if a.pieceThinned {
		return a.reservation.TryGrow(n)
	}
	return a.reservation.Grow(ctx, n, quotaWait) == nil
}

// finishPiece is called when a piece was decoded. It thins a piece that got no quota.
func (a *AgentResponse) finishPiece(v any) {
	retained := a.piece
	if a.exclusive {
		thin(v)
		retained = 0
		<-a.core.reading
		a.exclusive = false
	}
	if a.mayThin {
		a.reservation.Shrink(a.reservation.Size() - a.claimed + retained)
	}
	a.json, a.piece, a.claimed = a.json+retained, 0, 0
}

func responseTooLarge(n, maximum int64) error {
	return Problem(http.StatusRequestEntityTooLarge,
		api.Refuse(api.CodeTooLarge,
			"the response is %s as JSON, and this service sends at most %s in one response: request less output, "+
				"fewer files or fewer tests, or receive the output as events", api.Size(n), api.Size(maximum)))
}

// AllowThinning allows responses without quota to be read: they belong to a run whose end must be
// recorded in the history.
func (a *AgentResponse) AllowThinning() {
	if a != nil {
		a.mayThin = true
	}
}

// Finish ends the reading of a run's result. A result without quota is reduced to what the history
// keeps.
func (a *AgentResponse) Finish(res *api.Result) {
	if a == nil || !a.exclusive {
		return
	}
	thin(res)
	<-a.core.reading
	a.exclusive = false
}

// Thinned reports whether a response was read that got no quota, so that a part of it is missing.
func (a *AgentResponse) Thinned() bool { return a.wholeThinned || a.pieceThinned }

// ShrinkTo reduces the reservation to the size of the result.
func (a *AgentResponse) ShrinkTo(res api.Result) { a.reservation.Shrink(int64(res.Content())) }

// Release releases the quota.
func (a *AgentResponse) Release() {
	if a != nil {
		a.reservation.Release()
	}
}

// thin reduces a result, or a part of one, to what the history keeps and a diagnosis needs. It
// marks the parts that it removes.
func thin(v any) {
	switch v := v.(type) {
	case *api.Result:
		thinStream(&v.Stdout, &v.StdoutTruncated, HeadTailSize)
		thinStream(&v.Stderr, &v.StderrTruncated, HeadTailSize)
		thinFiles(v)
		if v.Compile != nil {
			thin(v.Compile)
		}
		for i := range v.Tests {
			thin(&v.Tests[i])
		}

	case *api.Compilation:
		thinStream(&v.Stdout, &v.StdoutTruncated, HeadTailSize)
		thinStream(&v.Stderr, &v.StderrTruncated, HeadTailSize)
	case *api.TestResult:
		one := &v.Result
		v.Cut = v.Cut || len(one.Stdout)+len(one.Stderr)+len(v.Output) > 0
		v.Output = nil
		thinStream(&one.Stdout, &one.StdoutTruncated, 0)
		thinStream(&one.Stderr, &one.StderrTruncated, 0)
		thinFiles(one)
		if o := v.Interactor; o != nil {
			if len(o.Stderr) > judgeStderr {
				o.Stderr, v.Cut = nil, true
			}
			o.Files, o.Skipped = nil, skipped(o.Skipped, o.Files)
		}
	}
}

// HeadTailSize is more than the history keeps, and a diagnosis reads, of the start or of the end of a
// stream.
const HeadTailSize = 128 << 10

// judgeStderr is the most that a result has of the stderr of a program that judges. Only one that judges nothing, of the
// protocol none, has more.
const judgeStderr = 4 << 10

// thinStream keeps end bytes of a stream's start, and as many of its end.
func thinStream(b *api.Bytes, cut *bool, end int) {
	if len(*b) > 2*end {
		*b, *cut = append(append(api.Bytes(nil), (*b)[:end]...), (*b)[len(*b)-end:]...), true
	}
}

func thinFiles(r *api.Result) {
	r.Files, r.Skipped = nil, skipped(r.Skipped, r.Files)
}

// skipped are files that were not collected, and more that are removed.
func skipped(before []api.Skipped, files []api.File) []api.Skipped {
	for _, f := range files {
		before = append(before, api.Skipped{Name: f.Name, Reason: "the response of the service had no space for it"})
	}
	return before
}

// KeepOutput reserves quota for n more bytes of output. Without quota the response is thinned, like one
// that came as a whole.
func (a *AgentResponse) KeepOutput(n int) bool {
	if a.wholeThinned || !a.reservation.TryGrow(int64(n)) {
		a.wholeThinned = true
		return false
	}
	a.json += int64(n)
	return true
}
