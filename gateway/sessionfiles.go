package gateway

import (
	"context"
	"net/http"
	"time"
)

func (g *Gateway) listFiles(w http.ResponseWriter, r *http.Request) error {
	files, err := g.ownFiles(r)
	if err != nil {
		return err
	}
	l, err := files.List(r.Context(), r.URL.Query().Get("dir"))
	if err != nil {
		return g.noteFile(r.Context(), r.PathValue("id"), err)
	}
	g.reply(w, r, http.StatusOK, l)
	return nil
}

func (g *Gateway) putFile(w http.ResponseWriter, r *http.Request) error {
	files, err := g.ownFiles(r)
	if err != nil {
		return err
	}
	executable, err := flag(r.URL.Query(), "executable")
	if err != nil {
		return err
	}
	body, err := g.boundBody(w, r, g.cfg.MaxBlob)
	if err != nil {
		return err
	}
	defer body.leave()
	if err := files.Put(r.Context(), r.PathValue("name"), body, executable); err != nil {
		return g.noteFile(r.Context(), r.PathValue("id"), body.reason(err))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (g *Gateway) deleteFile(w http.ResponseWriter, r *http.Request) error {
	files, err := g.ownFiles(r)
	if err != nil {
		return err
	}
	if err := files.Delete(r.Context(), r.PathValue("name")); err != nil {
		return g.noteFile(r.Context(), r.PathValue("id"), err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getFile sends a file as it is. The name is the program's choice: it is not
// repeated in a header (API-23), and no browser takes it for a page of this service.
func (g *Gateway) getFile(w http.ResponseWriter, r *http.Request) error {
	files, err := g.ownFiles(r)
	if err != nil {
		return err
	}
	leave, err := g.passage(r)
	if err != nil {
		return err
	}
	defer leave()
	out := &fileAnswer{w: w}
	err = files.Get(r.Context(), r.PathValue("name"), out)
	switch {
	case err != nil && !out.begun:
		return g.noteFile(r.Context(), r.PathValue("id"), err)
	case err != nil:
		g.log.Warn("a file broke off", "session", r.PathValue("id"), "err", err)
		panic(http.ErrAbortHandler) // the status is sent: the connection says it
	case !out.begun:
		_, err = out.Write(nil) // an empty file
	}
	return err
}

// A fileAnswer begins an answer with the first bytes of a file.
type fileAnswer struct {
	w     http.ResponseWriter
	begun bool
}

func (f *fileAnswer) Write(p []byte) (int, error) {
	if !f.begun {
		f.begun = true
		h := f.w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", "attachment")
		h.Set("X-Content-Type-Options", "nosniff")
		f.w.WriteHeader(http.StatusOK)
	}
	inTime(f.w)
	return f.w.Write(p)
}

// janitor ends at once what an earlier service left, and hourly forgets sessions
// that have ended without anybody asking.
func (g *Gateway) janitor(ctx context.Context, left []string) {
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, time.Minute) { // the agent may be away just now
		err := g.endSessions(ctx, left, "left by an earlier service")
		if err == nil {
			break
		}
		g.log.Error("sessions of an earlier service not ended: they are tried again", "err", err)
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
			for _, id := range g.sessions.every() {
				if _, err := g.lookAt(ctx, id); ended(err) {
					g.log.Info("session forgotten", "session", id, "why", err)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}
