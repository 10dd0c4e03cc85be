package client

import (
	"context"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// MakeSnapshot makes a snapshot of a session's files.
func (c *Client) MakeSnapshot(ctx context.Context, session string, r api.SnapshotRequest) (made api.SnapshotMade, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(session)+"/snapshots", r, &made)
	return made, err
}

// Snapshots lists the caller's snapshots of a space, the latest first; empty: of no space.
func (c *Client) Snapshots(ctx context.Context, space string) (all []api.Snapshot, err error) {
	err = c.call(ctx, http.MethodGet, api.SnapshotsPath(space), nil, &all)
	return all, err
}

// Snapshot describes a snapshot, by id or name.
func (c *Client) Snapshot(ctx context.Context, ref, space string) (one api.Snapshot, err error) {
	if err := api.SnapshotRef(ref); err != nil {
		return one, err
	}
	err = c.call(ctx, http.MethodGet, api.SnapshotPath(ref, space), nil, &one)
	return one, err
}

// DeleteSnapshot removes a snapshot, by id or name. Sessions that began with it keep their files.
func (c *Client) DeleteSnapshot(ctx context.Context, ref, space string) error {
	if err := api.SnapshotRef(ref); err != nil {
		return err
	}
	return c.call(ctx, http.MethodDelete, api.SnapshotPath(ref, space), nil, &struct{}{})
}

// Diff writes how a session's files differ from a snapshot, one api.PathChange as JSON a line. since is the snapshot, of a
// space as api.InSpace has it; empty: that with which the session began, or nothing. begin, if not nil, is called before
// the first byte, and its error ends the call.
func (c *Client) Diff(ctx context.Context, session, since string, begin func() error, to io.Writer) error {
	return c.download(ctx, api.DiffPath(session, since), func(http.Header) error {
		if begin == nil {
			return nil
		}
		return begin()
	}, to)
}

// Take copies regular files and directories of another session of the same user into a session.
func (c *Client) Take(ctx context.Context, session string, r api.TakeRequest) (taken api.TakenFiles, err error) {
	err = c.call(ctx, http.MethodPost, sessionPath(session)+"/take", r, &taken)
	return taken, err
}
