package sessions

import (
	"context"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/service/core"
)

func (ss *Sessions) listFiles(w http.ResponseWriter, r *http.Request) error {
	files, err := ss.ownFiles(r)
	if err != nil {
		return err
	}
	l, err := files.List(r.Context(), r.URL.Query().Get("dir"))
	if err != nil {
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), err)
	}
	ss.Reply(w, r, http.StatusOK, l)
	return nil
}

func (ss *Sessions) putFile(w http.ResponseWriter, r *http.Request) error {
	files, err := ss.ownFiles(r)
	if err != nil {
		return err
	}

	executable, err := core.Flag(r.URL.Query(), "executable")
	if err != nil {
		return err
	}

	body, err := ss.LimitedBody(w, r, ss.Config.MaxBlob)
	if err != nil {
		return err
	}
	defer body.Release()

	if err := files.Put(r.Context(), r.PathValue("name"), body, executable); err != nil {
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), body.Reason(err))
	}

	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (ss *Sessions) deleteFile(w http.ResponseWriter, r *http.Request) error {
	files, err := ss.ownFiles(r)
	if err != nil {
		return err
	}
	if err := files.Delete(r.Context(), r.PathValue("name")); err != nil {
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getFile sends a file unchanged. The name is the program's choice: it is not repeated in a header
// (API-23). No browser treats the file as a page of this service.
func (ss *Sessions) getFile(w http.ResponseWriter, r *http.Request) error {
	files, err := ss.ownFiles(r)
	if err != nil {
		return err
	}

	release, err := ss.TransferSlot(r)
	if err != nil {
		return err
	}
	defer release()

	out := &core.FileResponse{W: w}
	err = files.Get(r.Context(), r.PathValue("name"), out)
	switch {
	case err != nil && !out.HeadersSent:
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), err)
	case err != nil:
		ss.Log.Warn("transfer of a file failed", "session", r.PathValue("id"), "err", err)
		panic(http.ErrAbortHandler) // the status is sent already: the broken connection tells the client
	case !out.HeadersSent:
		_, err = out.Write(nil) // the file is empty
	}

	return err
}

// Janitor at first ends the sessions that an earlier process left, and hourly forgets sessions that
// have ended unnoticed.
func (ss *Sessions) Janitor(ctx context.Context) {
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, time.Minute) { // the agent may be temporarily unreachable
		err := ss.endSessions(ctx, ss.stale, "left by an earlier service")
		if err == nil {
			break
		}
		ss.Log.Error("sessions of an earlier service not ended: brig tries again", "err", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}

	tick := time.NewTicker(time.Hour)
	defer tick.Stop()

	for {
		select {
		case <-tick.C:
			for _, id := range ss.registry.list() {
				if _, err := ss.fetchSession(ctx, id); ended(err) {
					ss.Log.Info("session forgotten", "session", id, "why", err)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}
