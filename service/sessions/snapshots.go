package sessions

import (
	"context"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Snapshots of the files of sessions. The agent makes and keeps them, each in the space of its key, so a key can name none of
// another one's (SNP-01).

// snapshotSpace is the space of a key's snapshots in the agent. It is never that of a user of the agent's own socket.
func snapshotSpace(key string) string { return "key:" + key }

// withSnapshot completes a request that names a snapshot. Language and image are those of the snapshot unless the caller
// has named one, and are checked like the caller's.
func (ss *Sessions) withSnapshot(ctx context.Context, ask *api.SessionRequest, c core.Caller) error {
	if ask.Snapshot == "" {
		return nil
	}
	one, err := ss.Config.Agent.Snapshot(ctx, ask.Snapshot, snapshotSpace(c.Name))
	if err != nil {
		return err
	}
	switch {
	case ask.Language != "" || ask.Image != "":
	case one.Language != "":
		ask.Language = one.Language
	default:
		ask.Image = one.Base
	}
	ask.Snapshot = api.InSpace(snapshotSpace(c.Name), one.ID)
	return nil
}

func (ss *Sessions) postSnapshot(w http.ResponseWriter, r *http.Request) error {
	id, c := r.PathValue("id"), core.CallerOf(r.Context())
	if _, err := ss.registry.find(c.Name, id); err != nil {
		return err
	}
	raw, release, err := ss.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	ask, err := core.ParseBodyAs[api.SnapshotRequest](ss.Core, r.Context(), raw, "snapshot")
	if err != nil {
		return err
	}
	if ask.Space != "" {
		return api.Refuse(api.CodeBadRequest, "space cannot be set here: snapshots belong to the key")
	}
	if err := ask.Validate(); err != nil {
		return err
	}

	ask.Space = snapshotSpace(c.Name)
	made, err := ss.Config.Agent.MakeSnapshot(r.Context(), id, ask)
	if err != nil {
		return ss.forgetIfSessionEnded(r.Context(), id, err)
	}
	ss.Log.Info("snapshot", "session", id, "snapshot", made.ID, "key", c.Name, "files", made.Files, "bytes", made.Stored)
	w.Header().Set("Location", api.SnapshotPath(made.ID, ""))
	ss.Reply(w, r, http.StatusCreated, made)
	return nil
}

func (ss *Sessions) getSnapshots(w http.ResponseWriter, r *http.Request) error {
	all, err := ss.Config.Agent.Snapshots(r.Context(), snapshotSpace(core.CallerOf(r.Context()).Name))
	if err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, api.Page[api.Snapshot]{Items: all})
	return nil
}

func (ss *Sessions) getSnapshot(w http.ResponseWriter, r *http.Request) error {
	one, err := ss.Config.Agent.Snapshot(r.Context(), r.PathValue("snapshot"), snapshotSpace(core.CallerOf(r.Context()).Name))
	if err != nil {
		return err
	}
	ss.Reply(w, r, http.StatusOK, one)
	return nil
}

func (ss *Sessions) deleteSnapshot(w http.ResponseWriter, r *http.Request) error {
	c, ref := core.CallerOf(r.Context()), r.PathValue("snapshot")
	if err := ss.Config.Agent.DeleteSnapshot(context.WithoutCancel(r.Context()), ref, snapshotSpace(c.Name)); err != nil {
		return err
	}
	ss.Log.Info("snapshot removed", "key", c.Name, "snapshot", ref)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (ss *Sessions) postTake(w http.ResponseWriter, r *http.Request) error {
	id, c := r.PathValue("id"), core.CallerOf(r.Context())
	if _, err := ss.registry.find(c.Name, id); err != nil {
		return err
	}
	raw, release, err := ss.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	ask, err := core.ParseBodyAs[api.TakeRequest](ss.Core, r.Context(), raw, "take")
	if err == nil {
		err = ask.Validate()
	}
	if err == nil {
		_, err = ss.registry.find(c.Name, ask.From)
	}
	if err != nil {
		return err
	}

	taken, err := ss.Config.Agent.Take(r.Context(), id, ask)
	if err != nil {
		return ss.forgetIfSessionEnded(r.Context(), id, err)
	}
	ss.Reply(w, r, http.StatusOK, taken)
	return nil
}

// getDiff sends the changes as the agent sends them: paths are data in JSON, whatever a program has called them.
func (ss *Sessions) getDiff(w http.ResponseWriter, r *http.Request) error {
	id, c := r.PathValue("id"), core.CallerOf(r.Context())
	if _, err := ss.registry.find(c.Name, id); err != nil {
		return err
	}
	since := r.URL.Query().Get("since")
	if since != "" {
		if err := api.SnapshotRef(since); err != nil {
			return err
		}
		since = api.InSpace(snapshotSpace(c.Name), since)
	}
	release, err := ss.TransferSlot(r)
	if err != nil {
		return err
	}
	defer release()

	out := &lineResponse{w: w}
	err = ss.Config.Agent.Diff(r.Context(), id, since, out.begin, out)
	switch {
	case err != nil && !out.begun:
		return ss.forgetIfSessionEnded(r.Context(), id, err)
	case err != nil:
		ss.Log.Warn("transfer of changes failed", "session", id, "err", err)
		panic(http.ErrAbortHandler) // the status is sent already: the broken connection tells the client
	}
	return nil
}

// A lineResponse is a response of lines that the agent has made.
type lineResponse struct {
	w     http.ResponseWriter
	begun bool
}

func (l *lineResponse) begin() error {
	l.begun = true
	h := l.w.Header()
	h.Set("Content-Type", core.JSONLines)
	h.Set("X-Content-Type-Options", "nosniff")
	l.w.WriteHeader(http.StatusOK)
	return nil
}

func (l *lineResponse) Write(p []byte) (int, error) {
	core.SetWriteDeadline(l.w)
	return l.w.Write(p)
}
