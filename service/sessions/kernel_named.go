package sessions

import (
	"context"
	"net/http"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/kernels"
)

// KernelsOf lists the kernels of a caller in all of its sessions, the oldest first.
func (ss *Sessions) KernelsOf(c core.Caller) []api.Kernel {
	all := []api.Kernel{}
	for _, k := range ss.kernels.ofKey(c.Name) {
		all = append(all, k.describe())
	}
	return all
}

// Kernel returns a kernel of a caller by its id alone. That of another key does not exist (TestJupyterKeys).
func (ss *Sessions) Kernel(c core.Caller, id string) (api.Kernel, error) {
	k, err := ss.kernels.ofName(c.Name, id)
	if err != nil {
		return api.Kernel{}, err
	}
	return k.describe(), nil
}

// StartKernel makes a session for a kernel of the caller, and the kernel. EndKernel ends both.
func (ss *Sessions) StartKernel(r *http.Request, session api.SessionRequest, ask api.KernelRequest) (made api.Kernel, err error) {
	c := core.CallerOf(r.Context())
	if err := ask.Validate(); err != nil {
		return made, err
	}
	s, err := ss.create(r.Context(), c, session)
	if err != nil {
		return made, err
	}
	defer func() {
		if err != nil { // nobody knows the session
			_ = ss.endOne(context.WithoutCancel(r.Context()), s.ID) // it ends when it is idle
		}
	}()

	entry, err := ss.registry.find(c.Name, s.ID)
	if err != nil {
		return made, err
	}
	ctx, done, err := ss.Track(r)
	if err != nil {
		return made, err
	}
	defer done()

	k := ss.newKernel(c, core.DialectOf(r.Context()), s.ID, entry, ask)
	k.owns = true
	if err := ss.begin(ctx, k); err != nil {
		return made, err
	}
	return k.describe(), nil
}

// InterruptKernel ends the cell that a kernel of the caller executes, if there is one.
func (ss *Sessions) InterruptKernel(c core.Caller, id string) error {
	k, err := ss.kernels.ofName(c.Name, id)
	if err != nil {
		return err
	}
	k.post(kernels.Event{Kind: kernels.Interrupted}) // a kernel that has just ended executes nothing
	return nil
}

// RestartKernel gives a kernel of the caller a fresh interpreter.
func (ss *Sessions) RestartKernel(r *http.Request, id string) error {
	k, err := ss.kernels.ofName(core.CallerOf(r.Context()).Name, id)
	if err != nil {
		return err
	}
	ctx, done, err := ss.Track(r)
	if err != nil {
		return err
	}
	defer done()
	return ss.startKernel(ctx, k)
}

// EndKernel ends a kernel of the caller and, if StartKernel made it, its session.
func (ss *Sessions) EndKernel(ctx context.Context, c core.Caller, id string) error {
	k, err := ss.kernels.ofName(c.Name, id)
	if err != nil {
		return err
	}
	k.cancel()
	if !k.owns {
		return nil
	}
	return ss.endOne(context.WithoutCancel(ctx), k.session)
}

// ExecuteCell executes a cell in a kernel of the caller, and calls tell with each event until the end of ctx, which
// interrupts the cell, or an error of tell, which does so, too. An error means that it was not executed.
func (ss *Sessions) ExecuteCell(ctx context.Context, c core.Caller, id string, ask api.Cell, tell func(api.CellEvent) error) error {
	k, err := ss.kernels.ofName(c.Name, id)
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}
	return k.tell(ctx, &cellStream{core: ss.Core, key: c.Name, send: tell}, k.open(ask))
}

// AnswerCall answers a call that a cell of a kernel waits for.
func (ss *Sessions) AnswerCall(c core.Caller, id string, a api.KernelAnswer) error {
	k, err := ss.kernels.ofName(c.Name, id)
	if err != nil {
		return err
	}
	return k.answer(a)
}

// ofKey returns the kernels of a key, the oldest first.
func (kr *kernelRegistry) ofKey(key string) []*kernel {
	kr.mu.Lock()
	defer kr.mu.Unlock()
	var all []*kernel
	for _, session := range kr.bySession {
		for _, k := range session {
			if k.caller.Name == key && k.ctx.Err() == nil {
				all = append(all, k)
			}
		}
	}
	slices.SortFunc(all, func(a, b *kernel) int { return a.created.Compare(b.created) })
	return all
}

// ofName returns a kernel of a key by its id.
func (kr *kernelRegistry) ofName(key, id string) (*kernel, error) {
	for _, k := range kr.ofKey(key) {
		if k.id == id {
			return k, nil
		}
	}
	return nil, api.Refuse(api.CodeNotFound, "there is no kernel %.80q: list the kernels, or start one", id)
}
