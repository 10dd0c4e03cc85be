package runtime

import (
	"context"
	"io"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/run"
)

// What callers may do with sessions and volumes.

// CreateSession makes a session that belongs to the caller. See session.Registry.Create.
func (h *Host) CreateSession(ctx context.Context, ask api.SessionRequest, wait time.Duration,
	c api.Caller) (api.Session, error) {
	return h.sessions.Create(ctx, ask, wait, c)
}

// Sessions lists the sessions that the caller may see: its own, or all for root.
func (h *Host) Sessions(c api.Caller) []api.Session { return h.sessions.List(c) }

// Session describes one session.
func (h *Host) Session(id string, c api.Caller) (api.Session, error) { return h.sessions.Get(id, c) }

// UseSession is Session, and restarts the idle time.
func (h *Host) UseSession(id string, c api.Caller) (api.Session, error) { return h.sessions.Use(id, c) }

// SetLife changes when a session ends. See session.Registry.SetLife.
func (h *Host) SetLife(id string, l api.LifeRequest, c api.Caller) (api.Session, error) {
	return h.sessions.SetLife(id, l, c)
}

// DeleteSession ends a session with everything that runs in it, and returns when nothing of it is
// left.
func (h *Host) DeleteSession(id string, c api.Caller) error { return h.sessions.Delete(id, c) }

// EndSessions ends the caller's sessions that e names. See session.Registry.End.
func (h *Host) EndSessions(e api.EndRequest, c api.Caller) int { return h.sessions.End(e, c) }

// Exec executes one program in a session. See session.Registry.Exec.
func (h *Host) Exec(ctx context.Context, id string, e api.Exec, io api.Streams, c api.Caller) (api.Result, error) {
	return h.sessions.Exec(ctx, id, e, io, c)
}

// PutFile writes a file of a session. See session.Registry.PutFile.
func (h *Host) PutFile(id, name string, volume, executable bool, content io.Reader, c api.Caller) error {
	return h.sessions.PutFile(id, name, volume, executable, content, c)
}

// OpenFile opens a file of a session. See session.Registry.OpenFile.
func (h *Host) OpenFile(id, name string, volume bool, c api.Caller) (io.ReadCloser, error) {
	return h.sessions.OpenFile(id, name, volume, c)
}

// RemoveFile removes a file of a session. See session.Registry.RemoveFile.
func (h *Host) RemoveFile(id, name string, volume bool, c api.Caller) error {
	return h.sessions.RemoveFile(id, name, volume, c)
}

// ListFiles lists files of a session. See session.Registry.ListFiles.
func (h *Host) ListFiles(ctx context.Context, id, dir string, volume bool, hold func(bytes int64) error,
	c api.Caller) (api.FileList, error) {
	return h.sessions.ListFiles(ctx, id, dir, volume, hold, c)
}

// Volumes lists the caller's volumes.
func (h *Host) Volumes(c api.Caller) ([]api.Volume, error) {
	all, err := h.sessions.Volumes.List(c)
	if err != nil {
		return nil, run.ToAPIError(h.log, err, "")
	}
	return all, nil
}

// RemoveVolume removes one of the caller's volumes, with its content: the temporary one of a run, or, if run is
// empty, the one that lasts.
func (h *Host) RemoveVolume(ctx context.Context, name, ofRun string, c api.Caller) error {
	if err := api.VolumeName(name); err != nil {
		return err
	}
	if err := h.sessions.Volumes.Remove(ctx, c, name, ofRun); err != nil {
		return run.ToAPIError(h.log, err, "")
	}
	return nil
}

// ImagesRemoved closes the cells of images that were removed from the store or replaced, as soon as
// they are unused, and deletes the trees of those images.
func (h *Host) ImagesRemoved() {
	h.factory.Images.SignalRemoved()
	h.sessions.ImagesRemoved()
}

// MaxHeld is the most that all requests together may retain; see api.Memory.
func (h *Host) MaxHeld() api.Size { return h.memory.MaxHeld }

// HeldShare is what a stage of a request may retain whatever others do.
func (h *Host) HeldShare() api.Size { return h.memory.HeldShare() }

// HeldCommon is what requests may retain apart from that, all together.
func (h *Host) HeldCommon() api.Size { return h.memory.HeldCommon() }

// MemoryFreed serves the requests that wait for memory which another one has released.
func (h *Host) MemoryFreed() { h.runner.Pool.MemoryFreed() }

// MaxMemory bounds the agent's own memory.
func (h *Host) MaxMemory() api.Size { return h.memory.MaxMemory() }

// HeapLimit is the limit of the Go heap with which the agent stays within MaxMemory.
func (h *Host) HeapLimit() api.Size { return h.memory.HeapLimit() }
