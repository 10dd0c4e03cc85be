package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/brig-sandbox/brig/api"
)

// keep gives the agent the blobs of a run that it does not have.
func (w *Worker) keep(ctx context.Context, r api.Run) error {
	if w.Keep == nil {
		return nil
	}

	for _, digest := range r.Blobs() {
		if w.kept.has(digest) {
			continue
		}
		content, err := w.Blob(ctx, digest)
		if err == nil {
			err = w.Keep(ctx, content)
		}
		if err != nil {
			return notYet("get the content "+digest+" of the job", err)
		}
		w.kept.add(digest)
	}

	return nil
}

// notYet is an error that says nothing about the job: the engine may have lost contents, which the
// coordinator keeps again. A failure of the host or of the agent keeps its own code: it is no unknown
// content.
func notYet(what string, err error) error {
	code := api.CodeNoBlob
	var e *api.Error
	switch {
	case errors.As(err, &e):
		code = e.Code
	case exhausted(err):
		code = api.CodeHostExhausted
	}
	return api.Fail(code, "%s: %w", what, err)
}

// exhausted reports whether this host has no more room, descriptors or memory.
func exhausted(err error) bool {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE,
		syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// kept are the digests of the blobs that the agent got from this worker. The agent may have removed them.
type kept struct {
	mu  sync.Mutex
	all map[string]bool // guarded by mu
}

const maxKept = 100_000 // digests; more: all are asked for again

func (k *kept) has(digest string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[digest]
}

func (k *kept) add(digest string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || len(k.all) >= maxKept {
		k.all = map[string]bool{}
	}
	k.all[digest] = true
}

func (k *kept) forget(digests []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range digests {
		delete(k.all, d)
	}
}

// commons are the parts that jobs have in common, by digest: those of the last few batches.
type commons struct {
	mu  sync.Mutex
	all map[string]api.Run // guarded by mu
}

const maxCommons = 16

func (c *commons) get(ctx context.Context, digest string,
	fetch func(ctx context.Context, digest string) ([]byte, error)) (api.Run, error) {
	c.mu.Lock()
	defer c.mu.Unlock() // one fetch at a time: the jobs of a batch need the same

	if r, ok := c.all[digest]; ok {
		return r, nil
	}

	text, err := fetch(ctx, digest)
	if err != nil {
		return api.Run{}, notYet("get what the jobs of the batch have in common", err)
	}

	var r api.Run
	if err := json.Unmarshal(text, &r); err != nil {
		return api.Run{}, fmt.Errorf("read what the jobs of the batch have in common: %w", err)
	}
	if c.all == nil || len(c.all) >= maxCommons {
		c.all = map[string]api.Run{}
	}

	c.all[digest] = r
	return r, nil
}

// cancels are the jobs that the worker has, by batch.
type cancels struct {
	mu  sync.Mutex
	all map[string]map[*context.CancelCauseFunc]struct{} // guarded by mu
}

// add adds the cancel of a job. remove removes and calls it.
func (c *cancels) add(batch string, cancel context.CancelCauseFunc) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.all == nil {
		c.all = map[string]map[*context.CancelCauseFunc]struct{}{}
	}
	if c.all[batch] == nil {
		c.all[batch] = map[*context.CancelCauseFunc]struct{}{}
	}

	key := &cancel
	c.all[batch][key] = struct{}{}
	return func() {
		cancel(nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.all[batch], key); len(c.all[batch]) == 0 {
			delete(c.all, batch)
		}
	}
}

func (c *cancels) cancel(batch string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cancel := range c.all[batch] {
		(*cancel)(errCanceled)
	}
}
