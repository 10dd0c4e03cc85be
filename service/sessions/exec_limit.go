package sessions

import (
	"context"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/runs"
)

// newExecQuota limits the execs of each session that are in the queue or under way. The agent executes
// no more concurrently: a further one would occupy a slot in the queue while it waits, and keep it
// from all callers that have other work (API-15).
func newExecQuota() *quota.Pool { return quota.New(quota.PerKey(api.SessionExecs)) }

// newResidentQuota limits the residents of each session. They wait for no slot and hold none (docs/adr/0056).
func newResidentQuota() *quota.Pool { return quota.New(quota.PerKey(api.SessionResidents)) }

// newKeyResidents limits the residents of each key, if there are other keys: they stay for hours, so those of one
// key in many sessions could otherwise keep out all others (TestResidentsLeaveRoomForOtherKeys).
func newKeyResidents(s *core.Core) *quota.Pool {
	return quota.New(func(own, all, n int64) bool {
		health, _, _ := s.Agent.Get()
		return health.ResidentsMax == 0 || !s.Config.Keys.Multiple() || quota.Fair(own, all, n, int64(health.ResidentsMax), 1)
	})
}

// dispatchExec dispatches an exec. It frees the exec's place before the caller gets the result, so
// that the caller's next exec finds it free.
func (ss *Sessions) dispatchExec(ctx context.Context, o *runs.Request) (api.Result, error) {
	limit, what, maximum := ss.execs, "execs of this session are running or waiting", api.SessionExecs
	if o.Resident {
		limit, what, maximum = ss.residents, "terminals and processes of this session are open", api.SessionResidents
	}
	if !limit.TryAcquire(o.Session, 1) {
		return api.Result{}, api.Fail(api.CodeSessionBusy,
			"%d %s, and that is the maximum: send it again when one has ended", maximum, what)
	}
	defer limit.Release(o.Session, 1)

	if key := o.Caller.Name; o.Resident {
		if !ss.keyResidents.TryAcquire(key, 1) {
			return api.Result{}, api.Fail(api.CodeSessionBusy,
				"%d programs of this key stay, at terminals or as residents, and the rest is kept for other keys: send it again "+
					"when one has ended",
				ss.keyResidents.Used(key))
		}
		defer ss.keyResidents.Release(key, 1)
	}
	return ss.runs.Dispatch(ctx, o)
}
