package service

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/runs"
)

// batchAtOnce is how many runs of one batch wait in the queue at once. The rest wait in front of it: they would
// otherwise take all places of their key.
const batchAtOnce = 16

// tellBatch executes the runs of a batch at the same time, and sends what the dialect tells of them. The copy of the
// parts that it makes is reserved before.
func (h *dialectHandler) tellBatch(w http.ResponseWriter, r *http.Request, plan dialect.Plan) error {
	parts := h.executeBatch(r, plan.Batch)
	if err := r.Context().Err(); err != nil {
		return err
	}

	size := int64(0)
	for _, p := range parts {
		size += int64(len(p))
	}
	free, ok := h.core.Responses.Reserve(r.Context(), core.CallerOf(r.Context()).Name, size)
	if !ok {
		return core.NoQuotaError("")
	}
	defer free()
	return h.send(w, r, plan, plan.Batch.Tell(parts), "")
}

// executeBatch executes the runs of a batch, and returns a part for each. When the client leaves, what has not begun
// does not begin.
func (h *dialectHandler) executeBatch(r *http.Request, b *dialect.Batch) [][]byte {
	wait := h.core.Config.Wait
	if b.MaxWait > 0 {
		wait = b.MaxWait
	}
	until := time.Now().Add(wait)

	parts := make([][]byte, len(b.Runs))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(batchAtOnce, len(b.Runs)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(b.Runs)); i = next.Add(1) - 1 {
				parts[i] = h.part(r, b, int(i), until)
			}
		})
	}
	all.Wait()
	return parts
}

// part executes one run of a batch and has the dialect tell its outcome. The quota of its result is held until then.
func (h *dialectHandler) part(r *http.Request, b *dialect.Batch, i int, until time.Time) []byte {
	quota := h.core.NewAgentResponse(core.CallerOf(r.Context()).Name)
	defer func() { quota.Release() }()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		by := runs.Foreign{Dialect: h.Name, MaxWait: max(time.Until(until), time.Millisecond)}
		res, err := h.runs.ExecuteForeign(r.WithContext(quota.WithQuota(r.Context())), b.Runs[i], by)
		if err == nil && quota.Thinned() { // what it wrote is not all there
			err = core.NoQuotaError(res.Run)
		}
		if err == nil {
			return b.Part(i, dialect.Outcome{Result: res})
		}

		// A place in the queue is waited for, as one in front of it is.
		p := h.core.CountedProblem(err)
		again := p.Code == api.CodeQueueFull || p.Code == api.CodeKeyQueueFull || p.Code == api.CodeQueueTimeout
		if !again || time.Until(until) < pause || r.Context().Err() != nil {
			return b.Part(i, dialect.Outcome{Problem: p})
		}

		quota.Release()
		quota = h.core.NewAgentResponse(core.CallerOf(r.Context()).Name)
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
		}
	}
}
