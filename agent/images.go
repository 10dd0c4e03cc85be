package agent

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// images returns the store. If there is none, or if the caller is not root but must be, it answers
// the request itself and returns nil.
func (s *Server) images(w http.ResponseWriter, r *http.Request, onlyRoot bool) Images {
	switch {
	case s.cfg.Images == nil:
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent has no image store"))
		return nil
	case onlyRoot && callerOf(r.Context()).UID != 0:
		s.refuse(w, r, api.Refuse(api.CodeForbidden, "changing images needs root: run the command with sudo"))
		return nil
	}
	return s.cfg.Images
}

func (s *Server) listImages(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, false)
	if store == nil {
		return
	}
	all, err := store.List(r.Context())
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, nonNil(all))
}

func (s *Server) importImage(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, true)
	if store == nil {
		return
	}
	name := r.URL.Query().Get("name")
	if name == "" {
		s.refuse(w, r, api.Refuse(api.CodeBadRequest, "the image has no name: add ?name="))
		return
	}
	most := int64(s.cfg.MaxArchive)
	if r.ContentLength > most {
		s.refuse(w, r, tooLarge("archive", s.cfg.MaxArchive))
		return
	}
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(noDeadline) // an archive may take any time; its sender is root
	body := http.MaxBytesReader(w, r.Body, most)
	img, err := store.Import(r.Context(), body, name, r.URL.Query().Get("digest"), func(string) {})
	if err != nil {
		s.refuse(w, r, bodyError(err, "archive", s.cfg.MaxArchive))
		return
	}
	s.reply(w, http.StatusOK, img)
}

func (s *Server) removeImage(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, true)
	if store == nil {
		return
	}
	if err := store.Remove(r.Context(), r.PathValue("name")); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, struct{}{})
}

func (s *Server) verifyImage(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, true)
	if store == nil {
		return
	}
	v, err := store.Verify(r.Context(), r.PathValue("name"))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	v.Changed, v.Missing, v.Extra = nonNil(v.Changed), nonNil(v.Missing), nonNil(v.Extra)
	s.reply(w, http.StatusOK, v)
}

func (s *Server) clean(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, true)
	if store == nil {
		return
	}
	done, err := store.GC(r.Context())
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	done.Images = nonNil(done.Images)
	s.reply(w, http.StatusOK, done)
}
