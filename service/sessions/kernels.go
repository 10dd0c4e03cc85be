package sessions

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/quota"
)

// maxKernels is the number of kernels of a service. Each is a connection to the agent and some goroutines.
const maxKernels = 256

// kernelRegistry has the kernels of all sessions. Each is a goroutine, which is joined by wait.
type kernelRegistry struct {
	perSession *quota.Pool
	perKey     *quota.Pool
	running    sync.WaitGroup

	mu        sync.Mutex
	bySession map[string]map[string]*kernel // guarded by mu; by session and id
	closed    bool                          // guarded by mu; there are to be no more
}

func newKernelRegistry(keys *auth.Keys) *kernelRegistry {
	return &kernelRegistry{
		bySession:  map[string]map[string]*kernel{},
		perSession: quota.New(quota.PerKey(api.SessionKernels)),
		perKey:     core.NewSharedQuota(maxKernels, keys),
	}
}

// add makes a kernel and starts its goroutine. It has no interpreter yet.
func (kr *kernelRegistry) add(k *kernel) error {
	if !kr.perSession.TryAcquire(k.session, 1) {
		return api.Fail(api.CodeSessionBusy, "session %s has %d kernels, and that is the maximum: delete one", k.session,
			api.SessionKernels)
	}
	if !kr.perKey.TryAcquire(k.caller.Name, 1) {
		kr.perSession.Release(k.session, 1)
		return api.Fail(api.CodeBusy, "the service has %d of at most %d kernels, and the rest is kept for other keys: delete one",
			kr.perKey.Total(), maxKernels)
	}

	kr.mu.Lock()
	defer kr.mu.Unlock()
	if kr.closed {
		kr.release(k)
		return core.ErrStopping()
	}
	for _, other := range kr.bySession[k.session] {
		if k.ask.Tag != "" && other.ask.Tag == k.ask.Tag && other.ctx.Err() == nil {
			kr.release(k)
			return api.Refuse(api.CodeConflict, "session %s has a kernel with the tag %q, %s: use it, or choose another tag", k.session,
				k.ask.Tag, other.id)
		}
	}
	if kr.bySession[k.session] == nil {
		kr.bySession[k.session] = map[string]*kernel{}
	}
	kr.bySession[k.session][k.id] = k
	kr.running.Go(func() {
		k.run()
		kr.remove(k)
	})
	return nil
}

func (kr *kernelRegistry) release(k *kernel) {
	kr.perSession.Release(k.session, 1)
	kr.perKey.Release(k.caller.Name, 1)
}

func (kr *kernelRegistry) remove(k *kernel) {
	kr.mu.Lock()
	delete(kr.bySession[k.session], k.id)
	if len(kr.bySession[k.session]) == 0 {
		delete(kr.bySession, k.session)
	}
	kr.mu.Unlock()
	kr.release(k)
}

// find returns a kernel of a session, whose owner was checked.
func (kr *kernelRegistry) find(session, id string) (*kernel, error) {
	kr.mu.Lock()
	defer kr.mu.Unlock()
	k := kr.bySession[session][id]
	if k == nil || k.ctx.Err() != nil {
		return nil, api.Refuse(api.CodeNotFound, "session %s has no kernel %.80q: list its kernels, or make one", session, id)
	}
	return k, nil
}

// of returns the kernels of a session, the oldest first.
func (kr *kernelRegistry) of(session string) []*kernel {
	kr.mu.Lock()
	defer kr.mu.Unlock()
	var all []*kernel
	for _, k := range kr.bySession[session] {
		if k.ctx.Err() == nil {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *kernel) int { return a.created.Compare(b.created) })
	return all
}

// endOf ends the kernels of a session, which has ended. It does not wait for them.
func (kr *kernelRegistry) endOf(session string) {
	for _, k := range kr.of(session) {
		k.cancel()
	}
}

// end ends all kernels, and waits until nothing is left of them.
func (kr *kernelRegistry) end() {
	kr.mu.Lock()
	kr.closed = true
	for _, all := range kr.bySession {
		for _, k := range all {
			k.cancel()
		}
	}
	kr.mu.Unlock()
	kr.running.Wait()
}

// newKernel makes a kernel that is in no registry yet.
func (ss *Sessions) newKernel(c core.Caller, dialect, session string, entry sessionEntry, ask api.KernelRequest) *kernel {
	if ask.Language == "" {
		ask.Language = api.KernelPython
	}
	ctx := core.WithDialect(core.WithCaller(context.Background(), c), dialect)
	k := &kernel{ss: ss, id: core.NewID(), session: session, entry: entry, caller: c, ask: ask,
		created: time.Now().UTC(), used: time.Now().UTC(),
		events: make(chan kernelEvent), left: make(chan struct{}), changed: make(chan struct{}), cells: map[int64]*cell{}}
	k.ctx, k.cancel = context.WithCancel(ctx)
	return k
}
