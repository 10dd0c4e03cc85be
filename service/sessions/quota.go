package sessions

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/quota"
)

// sessionUsage is the usage of the agent by sessions: their number, and the memory that is reserved for
// them as long as they live.
type sessionUsage struct {
	sessions int
	memory   api.Size
}

func (h sessionUsage) plus(more sessionUsage) sessionUsage {
	return sessionUsage{h.sessions + more.sessions, h.memory + more.memory}
}

// checkSessionQuota returns an error if a key may not have one more session: because of the key's own limits,
// or, if it has none and there are other keys, because that would not be fair. A session lives for
// hours, so the sessions of one key could otherwise keep out all others
// (TestSessionsLeaveRoomForOtherKeys).
func checkSessionQuota(c core.Caller, own, all, more, maximum sessionUsage, others bool) error {
	has := own.plus(more)
	much := c.Memory == 0 && others && maximum.memory > 0 &&
		!quota.Fair(int64(own.memory), int64(all.memory), int64(more.memory), int64(maximum.memory),
			int64(totalMemory(api.Defaults())))
	switch {
	case c.Sessions > 0 && has.sessions > c.Sessions:
		return sessionsFullError("this key has %d sessions, and its limit is %d: end one", own.sessions, c.Sessions)
	case c.Memory > 0 && more.memory > c.Memory:
		return api.Refuse(api.CodeAboveCeiling,
			"the session's memory with swap and scratch is %s, and the limit for all sessions of this key is %s: ask for less",
			more.memory, c.Memory)
	case c.Memory > 0 && has.memory > c.Memory:
		return sessionsFullError("the sessions of this key have %s of memory, with swap and scratch, and their limit "+
			"is %s: end one, or ask for less", own.memory, c.Memory)
	case c.Sessions == 0 && others && maximum.sessions > 0 &&
		!quota.Fair(int64(own.sessions), int64(all.sessions), 1, int64(maximum.sessions), 1):
		return sessionsFullError("this key has %d of the %d possible sessions, and the rest is kept for other keys: "+
			"end one, or have the operator set a limit for the key (sessions)", own.sessions, maximum.sessions)
	case much && own.memory == 0 && more.memory > maximum.memory/2:
		return api.Refuse(api.CodeAboveCeiling,
			"the session's memory with swap and scratch is %s, and of the %s in total one key gets at most half: ask "+
				"for less, or have the operator set a limit for the key (memory)", more.memory, maximum.memory)
	case much:
		return sessionsFullError("the sessions of this key have %s of the %s of memory in total, and the rest is "+
			"kept for other keys: end one, ask for less, or have the operator set a limit for the key (memory)", own.memory, maximum.memory)
	}

	return nil
}

func sessionsFullError(format string, args ...any) error {
	return core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeSessionsFull, format, args...))
}

// checkVolumeQuota is the same check for a volume.
func checkVolumeQuota(c core.Caller, own, all, more, maximum api.Size, others bool) error {
	switch {
	case c.Volumes > 0 && own+more > c.Volumes:
		return api.Refuse(api.CodeAboveCeiling,
			"this key may have %s of volumes, and with this one it would have %s: remove one, or ask for less", c.Volumes,
			own+more)
	case c.Volumes == 0 && others && maximum > 0 &&
		!quota.Fair(int64(own), int64(all), int64(more), int64(maximum), int64(api.VolumeSize)):
		return api.Refuse(api.CodeAboveCeiling,
			"this key has %s of the %s that all volumes can have, and the rest is kept for other keys: remove one, "+
				"ask for less, or have the operator set a limit for the key (volumes)", own, maximum)
	}
	return nil
}

// requestedMemory is the memory that will be reserved for a requested session. The agent decides in the
// end: a language may have its own limits.
func requestedMemory(ask api.SessionRequest) api.Size {
	preset, err := api.Preset(ask.Preset)
	if err != nil {
		return 0 // the agent refuses it
	}
	return totalMemory(ask.Limits.Over(preset).Over(api.Defaults()))
}

func totalMemory(l api.Limits) api.Size {
	const enough = 1 << 50 // more than any host has, and small enough that sums do not overflow
	return min(l.Memory, enough) + min(l.Swap, enough) + min(l.Scratch, enough)
}
