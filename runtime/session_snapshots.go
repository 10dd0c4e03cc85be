package runtime

import (
	"context"
	"os"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/run"
	"github.com/brig-sandbox/brig/runtime/snapshot"
)

// What callers may do with snapshots. See session.Registry and snapshot.Store.

// MakeSnapshot makes a snapshot of a session's files.
func (h *Host) MakeSnapshot(ctx context.Context, id string, r api.SnapshotRequest, hold func(bytes int64) error,
	c api.Caller) (api.SnapshotMade, error) {
	return h.sessions.MakeSnapshot(ctx, id, r, hold, c)
}

// Snapshots lists the caller's, of one space.
func (h *Host) Snapshots(space string, c api.Caller) ([]api.Snapshot, error) {
	all, err := h.sessions.Snapshots.List(snapshot.Owner{UID: c.UID, Space: space})
	if err != nil {
		return nil, run.ToAPIError(h.log, err, "")
	}
	return all, nil
}

// Snapshot describes one of the caller's.
func (h *Host) Snapshot(ref, space string, c api.Caller) (api.Snapshot, error) {
	one, err := h.sessions.Snapshots.Get(snapshot.Owner{UID: c.UID, Space: space}, ref)
	if err != nil {
		return one, run.ToAPIError(h.log, err, "")
	}
	return one, nil
}

// RemoveSnapshot removes one of the caller's.
func (h *Host) RemoveSnapshot(ref, space string, c api.Caller) error {
	if err := h.sessions.Snapshots.Remove(snapshot.Owner{UID: c.UID, Space: space}, ref); err != nil {
		return run.ToAPIError(h.log, err, "")
	}
	return nil
}

// Diff tells how a session's files differ from a snapshot.
func (h *Host) Diff(ctx context.Context, id, since string, hold func(bytes int64) error, c api.Caller) (*os.File, error) {
	return h.sessions.Diff(ctx, id, since, hold, c)
}

// Take copies files of another session into a session.
func (h *Host) Take(ctx context.Context, id string, r api.TakeRequest, hold func(bytes int64) error, c api.Caller) (api.TakenFiles, error) {
	return h.sessions.Take(ctx, id, r, hold, c)
}
