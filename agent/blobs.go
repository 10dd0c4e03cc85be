package agent

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// blobs returns the store and the digest. If there is no store or the digest is invalid, it answers
// the request itself and returns nil.
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

// putBlob stores the body under its digest. Every caller that may run programs may store blobs: the
// store is bounded, and blobs that are used less than others are evicted.
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

// hasBlob lets a caller send only blobs that are not stored yet.
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

// removeBlob is for a service that knows which blobs are no longer needed. Every caller that may
// run programs may remove blobs: it could also evict any blob by sending many others.
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
