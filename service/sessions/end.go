package sessions

import (
	"context"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// End ends the sessions of a caller that e names, also those that are still being created, and then removes its
// temporary volumes. It returns how many there were of each. An error leaves the rest to the next request. A label
// can be guessed: what another key has with it stays (TestEndOfARun).
func (ss *Sessions) End(ctx context.Context, c core.Caller, e api.EndRequest) (sessions, volumes int, err error) {
	if sessions, err = ss.creations.endLabeled(ctx, c.Name, e); err != nil {
		return sessions, 0, err
	}
	for _, id := range ss.registry.labeled(c.Name, e) {
		ended, err := ss.endLabeled(ctx, id, e)
		if err != nil {
			return sessions, 0, err
		}
		if ended {
			sessions++
		}
	}

	volumes, err = ss.removeVolumes(ctx, c, e)
	return sessions, volumes, err
}

// endLabeled ends one session. It reports whether the session had not ended by itself.
func (ss *Sessions) endLabeled(ctx context.Context, id string, e api.EndRequest) (was bool, err error) {
	err = ss.Config.Agent.DeleteSession(ctx, id)
	if err != nil && !ended(err) {
		return false, err
	}

	why := fmt.Sprintf("session %s has ended: its run %q was ended: make another", id, e.Run)
	if serr := ss.registry.end(id, why); serr != nil {
		ss.Log.Error("a session that was ended stays in the file", "session", id, "err", serr) // as in deleteSession
	}
	return err == nil, nil
}

// removeVolumes removes the temporary volumes of a caller that e names.
func (ss *Sessions) removeVolumes(ctx context.Context, c core.Caller, e api.EndRequest) (removed int, err error) {
	all, err := ss.volumesOf(ctx, c.Name)
	if api.HasCode(err, api.CodeNotFound) { // the agent keeps no volumes
		return 0, nil
	}
	if err != nil {
		return 0, err
	}

	for _, v := range all {
		if !e.HasVolume(v) {
			continue
		}
		err := ss.Config.Agent.DeleteTemporaryVolume(ctx, volumePrefix(c.Name)+v.Name, v.Run)
		switch {
		case err == nil:
			removed++
		case !api.HasCode(err, api.CodeNotFound): // otherwise another request was quicker
			return removed, ss.withOwnNames(err, c, v.Name)
		}
	}

	return removed, nil
}
