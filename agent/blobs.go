package agent

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// blobs answers the request itself when it may not go on.
func (s *Server) blobs(w http.ResponseWriter, r *http.Request) (Blobs, string) {
	if s.cfg.Blobs == nil {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent keeps no blobs"))
		return nil, ""
	}
	digest := r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		s.refuse(w, r, err)
		return nil, ""
	}
	return s.cfg.Blobs, digest
}

// putBlob keeps the body under its digest. Whoever may run programs may: what is
// kept has a bound, and it goes when others are used more.
func (s *Server) putBlob(w http.ResponseWriter, r *http.Request) {
	store, digest := s.blobs(w, r)
	if store == nil {
		return
	}
	most := int64(s.cfg.MaxBlob)
	if r.ContentLength > most {
		s.refuse(w, r, tooLarge("blob", s.cfg.MaxBlob))
		return
	}
	if err := store.Put(digest, http.MaxBytesReader(w, r.Body, most)); err != nil {
		s.refuse(w, r, bodyError(err, "blob", s.cfg.MaxBlob))
		return
	}
	s.reply(w, http.StatusOK, struct{}{})
}

// hasBlob lets a caller send only what is not here yet.
func (s *Server) hasBlob(w http.ResponseWriter, r *http.Request) {
	store, digest := s.blobs(w, r)
	switch {
	case store == nil:
	case store.Has(digest):
		w.WriteHeader(http.StatusOK)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// removeBlob is for a service that knows which blobs nobody needs. Whoever may run programs
// may: by bringing many, any blob can be made to go as well.
func (s *Server) removeBlob(w http.ResponseWriter, r *http.Request) {
	store, digest := s.blobs(w, r)
	if store == nil {
		return
	}
	if err := store.Remove(digest); err != nil {
		s.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
