package sessions

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/kernels"
)

// kernelStart is how long an interpreter may take to start. A busy machine is slow.
const kernelStart = time.Minute

// postKernel makes a kernel, and answers when its interpreter is ready.
func (ss *Sessions) postKernel(w http.ResponseWriter, r *http.Request) error {
	session, caller := r.PathValue("id"), core.CallerOf(r.Context())
	entry, err := ss.registry.find(caller.Name, session)
	if err != nil {
		return err
	}
	ask, err := readBodyAs[api.KernelRequest](ss, w, r, "kernel")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	ctx, done, err := ss.Track(r)
	if err != nil {
		return err
	}
	defer done()

	k := ss.newKernel(caller, core.DialectOf(r.Context()), session, entry, ask)
	if err := ss.begin(ctx, k); err != nil {
		return err
	}

	w.Header().Set("Location", "/v1/sessions/"+session+"/kernels/"+k.id)
	ss.Reply(w, r, http.StatusCreated, k.describe())
	return nil
}

// begin registers a kernel, and waits until its interpreter is ready. After an error there is none.
func (ss *Sessions) begin(ctx context.Context, k *kernel) error {
	if err := ss.kernels.add(k); err != nil {
		k.cancel()
		return err
	}
	if err := ss.startKernel(ctx, k); err != nil {
		k.cancel()
		return err
	}
	return nil
}

func (ss *Sessions) startKernel(ctx context.Context, k *kernel) error {
	ctx, cancel := context.WithTimeout(ctx, kernelStart)
	defer cancel()
	err := k.start(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return api.Fail(api.CodeBusy, "the interpreter of kernel %s was not ready within %s: try again later", k.id, kernelStart)
	}
	return err
}

func (ss *Sessions) getKernels(w http.ResponseWriter, r *http.Request) error {
	session := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, session); err != nil {
		return err
	}
	page := api.Page[api.Kernel]{Items: []api.Kernel{}}
	for _, k := range ss.kernels.of(session) {
		page.Items = append(page.Items, k.describe())
	}
	ss.Reply(w, r, http.StatusOK, page)
	return nil
}

// kernelOf returns the kernel that a request names. That of another key is not found.
func (ss *Sessions) kernelOf(r *http.Request) (*kernel, error) {
	session := r.PathValue("id")
	if _, err := ss.registry.find(core.CallerOf(r.Context()).Name, session); err != nil {
		return nil, err
	}
	return ss.kernels.find(session, r.PathValue("kernel"))
}

func (ss *Sessions) getKernel(w http.ResponseWriter, r *http.Request) error {
	k, err := ss.kernelOf(r)
	if err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, k.describe())
	return nil
}

func (ss *Sessions) deleteKernel(w http.ResponseWriter, r *http.Request) error {
	k, err := ss.kernelOf(r)
	if err != nil {
		return err
	}
	k.cancel()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (ss *Sessions) interruptKernel(w http.ResponseWriter, r *http.Request) error {
	k, err := ss.kernelOf(r)
	if err != nil {
		return err
	}
	k.post(kernels.Event{Kind: kernels.Interrupted}) // a kernel that has just ended executes nothing
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (ss *Sessions) restartKernel(w http.ResponseWriter, r *http.Request) error {
	k, err := ss.kernelOf(r)
	if err != nil {
		return err
	}
	ctx, done, err := ss.Track(r)
	if err != nil {
		return err
	}
	defer done()
	if err := ss.startKernel(ctx, k); err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, k.describe())
	return nil
}

// postCell executes a cell, and sends its events as they happen.
func (ss *Sessions) postCell(w http.ResponseWriter, r *http.Request) error {
	k, err := ss.kernelOf(r)
	if err != nil {
		return err
	}
	ask, err := readBodyAs[api.Cell](ss, w, r, "cell")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	ctx, done, err := ss.Track(r)
	if err != nil {
		return err
	}
	defer done()
	return k.tell(ctx, &cellStream{core: ss.Core, w: w, key: k.caller.Name}, k.open(ask))
}

// postAnswer answers a call that a cell waits for.
func (ss *Sessions) postAnswer(w http.ResponseWriter, r *http.Request) error {
	k, err := ss.kernelOf(r)
	if err != nil {
		return err
	}
	ask, err := readBodyAs[api.KernelAnswer](ss, w, r, "answer")
	if err != nil {
		return err
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	if err := k.answer(ask); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// answer passes the answer to a call on to the program.
func (k *kernel) answer(ask api.KernelAnswer) error {
	it := k.talking()
	if it == nil || !k.currentCell().answered(ask.ID) {
		return api.Refuse(api.CodeNotFound, "no call %.80q of kernel %s waits for an answer: it was answered, or its cell has ended",
			ask.ID, k.id)
	}
	frame, err := kernels.AppendAnswer(nil, ask)
	if err == nil {
		err = it.requests.add(frame)
	}
	return err
}
