package agent

import (
	"context"
	"io"
	"net/http"
	"os"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
)

// Snapshots stores copies of the files of sessions. A caller has access only to its own, and names the space in which
// each is. hold is as api.Memory.Keep; if an error contains an *api.Error, the caller gets that.
type Snapshots interface {
	Make(ctx context.Context, session string, r api.SnapshotRequest, hold func(bytes int64) error, c api.Caller) (api.SnapshotMade, error)
	List(space string, c api.Caller) ([]api.Snapshot, error)
	Get(ref, space string, c api.Caller) (api.Snapshot, error)
	Remove(ref, space string, c api.Caller) error
	// Diff returns lines of JSON, each an api.PathChange. since is the snapshot, with its space (api.InSpace); empty: that
	// with which the session began. The caller closes the file.
	Diff(ctx context.Context, session, since string, hold func(bytes int64) error, c api.Caller) (*os.File, error)
	// Take copies files of another session into a session.
	Take(ctx context.Context, session string, r api.TakeRequest, hold func(bytes int64) error, c api.Caller) (api.TakenFiles, error)
}

// snapshotRoutes are the operations on snapshots. Each handler decodes, and calls one method.
func (s *Server) snapshotRoutes(mux *http.ServeMux) {
	for pattern, h := range map[string]func(w http.ResponseWriter, r *http.Request, c api.Caller) error{
		"POST /v1/sessions/{id}/snapshots": s.makeSnapshot,
		"GET /v1/sessions/{id}/diff":       s.diffSession,
		"POST /v1/sessions/{id}/take":      s.takeFiles,
		"GET /v1/snapshots":                s.listSnapshots,
		"GET /v1/snapshots/{ref}":          s.getSnapshot,
		"DELETE /v1/snapshots/{ref}":       s.removeSnapshot,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			err := error(api.Refuse(api.CodeNotFound, "this agent keeps no sessions"))
			if s.cfg.Snapshots != nil {
				err = h(w, r, callerOf(r.Context()))
			}
			if err != nil {
				s.refuse(w, r, err)
			}
		})
	}
}

func (s *Server) makeSnapshot(w http.ResponseWriter, r *http.Request, c api.Caller) error {
	req, err := parse(s, w, r, "snapshot",
		func(raw []byte) (api.SnapshotRequest, error) {
			return decode.Value[api.SnapshotRequest](raw, "snapshot")
		})
	if err != nil {
		return err
	}
	made, err := s.cfg.Snapshots.Make(r.Context(), r.PathValue("id"), req, reservationOf(r.Context()).Keep, c)
	if err == nil {
		s.reply(w, http.StatusCreated, made)
	}
	return err
}

func (s *Server) takeFiles(w http.ResponseWriter, r *http.Request, c api.Caller) error {
	req, err := parse(s, w, r, "take",
		func(raw []byte) (api.TakeRequest, error) { return decode.Value[api.TakeRequest](raw, "take") })
	if err != nil {
		return err
	}
	taken, err := s.cfg.Snapshots.Take(r.Context(), r.PathValue("id"), req, reservationOf(r.Context()).Keep, c)
	if err == nil {
		s.reply(w, http.StatusOK, taken)
	}
	return err
}

// diffSession streams the changes. They are complete before the first is sent, so a slow client keeps nothing waiting.
func (s *Server) diffSession(w http.ResponseWriter, r *http.Request, c api.Caller) error {
	lines, err := s.cfg.Snapshots.Diff(r.Context(), r.PathValue("id"), r.URL.Query().Get("since"),
		reservationOf(r.Context()).Keep, c)
	if err != nil {
		return err
	}
	defer lines.Close()
	s.sendContent(w, io.Reader(lines))
	return nil
}

func (s *Server) listSnapshots(w http.ResponseWriter, r *http.Request, c api.Caller) error {
	all, err := s.cfg.Snapshots.List(r.URL.Query().Get("space"), c)
	if err == nil {
		s.reply(w, http.StatusOK, nonNil(all))
	}
	return err
}

func (s *Server) getSnapshot(w http.ResponseWriter, r *http.Request, c api.Caller) error {
	one, err := s.cfg.Snapshots.Get(r.PathValue("ref"), r.URL.Query().Get("space"), c)
	if err == nil {
		s.reply(w, http.StatusOK, one)
	}
	return err
}

func (s *Server) removeSnapshot(w http.ResponseWriter, r *http.Request, c api.Caller) error {
	err := s.cfg.Snapshots.Remove(r.PathValue("ref"), r.URL.Query().Get("space"), c)
	if err == nil {
		s.reply(w, http.StatusOK, struct{}{})
	}
	return err
}
