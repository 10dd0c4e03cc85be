package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// ownBlob is the name under which the store has a blob of a caller: for root the digest, for others a hash of digest
// and user id. By the digest alone one user would read what another has stored, such as hidden tests (API-28).
func ownBlob(digest string, c api.Caller) string {
	if c.UID == 0 {
		return digest
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", digest, c.UID))
	return hex.EncodeToString(sum[:])
}

// blobs returns the store, the digest that the request names, and the name of the caller's blob. If there is no store or
// the digest is invalid, it answers the request itself and returns nil.
func (s *Server) blobs(w http.ResponseWriter, r *http.Request) (store Blobs, digest, name string) {
	if s.cfg.Blobs == nil {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent keeps no blobs"))
		return nil, "", ""
	}
	digest = r.PathValue("digest")
	if err := api.BlobDigest(digest); err != nil {
		s.refuse(w, r, err)
		return nil, "", ""
	}
	return s.cfg.Blobs, digest, ownBlob(digest, callerOf(r.Context()))
}

// putBlob stores the body under its digest. Every caller that may run programs may store blobs: the
// store is bounded, and blobs that are used less than others are evicted.
func (s *Server) putBlob(w http.ResponseWriter, r *http.Request) {
	store, digest, name := s.blobs(w, r)
	if store == nil {
		return
	}

	maximum := int64(s.cfg.MaxBlob)
	if r.ContentLength > maximum {
		s.refuse(w, r, tooLarge("blob", s.cfg.MaxBlob))
		return
	}
	if err := store.Put(name, digest, http.MaxBytesReader(w, r.Body, maximum)); err != nil {
		s.refuse(w, r, bodyError(err, "blob", s.cfg.MaxBlob))
		return
	}

	s.reply(w, http.StatusOK, struct{}{})
}

// hasBlob lets a caller send only blobs that are not stored yet.
func (s *Server) hasBlob(w http.ResponseWriter, r *http.Request) {
	store, _, name := s.blobs(w, r)
	switch {
	case store == nil:
	case store.Has(name):
		w.WriteHeader(http.StatusOK)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// getBlob streams a blob that the caller has stored. No reader counts on its being intact: the caller knows its digest.
func (s *Server) getBlob(w http.ResponseWriter, r *http.Request) {
	store, _, name := s.blobs(w, r)
	if store == nil {
		return
	}

	content, err := store.Open(name)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer content.Close()
	s.sendContent(w, content)
}

// removeBlob is for a service that knows which of its blobs are no longer needed.
func (s *Server) removeBlob(w http.ResponseWriter, r *http.Request) {
	store, _, name := s.blobs(w, r)
	if store == nil {
		return
	}
	if err := store.Remove(name); err != nil {
		s.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
