package sessions

import (
	"context"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/runs"
)

// newExecQuota limits the execs of each session that are in the queue or under way. The agent executes
// no more concurrently: a further one would occupy a slot in the queue while it waits, and keep it
// from all callers that have other work (API-15).
func newExecQuota() *quota.Pool { return quota.New(quota.PerKey(api.SessionExecs)) }

// dispatchExec dispatches an exec. It frees the exec's place before the caller gets the result, so
// that the caller's next exec finds it free.
func (ss *Sessions) dispatchExec(ctx context.Context, o *runs.Request) (api.Result, error) {
	if !ss.execs.TryAcquire(o.Session, 1) {
		return api.Result{}, api.Fail(api.CodeSessionBusy,
			"%d execs of this session are running or waiting, and that is the maximum: send it again when one has ended",
			api.SessionExecs)
	}
	defer ss.execs.Release(o.Session, 1)
	return ss.runs.Dispatch(ctx, o)
}
