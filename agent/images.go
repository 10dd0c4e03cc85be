package agent

import (
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
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
	if r.Header.Get("Content-Type") == "application/json" {
		s.addImage(w, r, store, name)
		return
	}

	body, err := s.archiveBody(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	img, err := store.Import(r.Context(), body, name, r.URL.Query().Get("digest"), func(string) {})
	if err != nil {
		s.refuse(w, r, bodyError(err, "archive", s.cfg.MaxArchive))
		return
	}

	s.reply(w, http.StatusOK, img)
}

// archiveBody returns the body of a request that is an archive.
func (s *Server) archiveBody(w http.ResponseWriter, r *http.Request) (io.Reader, error) {
	maximum := int64(s.cfg.MaxArchive)
	if r.ContentLength > maximum {
		return nil, tooLarge("archive", s.cfg.MaxArchive)
	}
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(noDeadline) // an archive may take any time; its sender is root
	return http.MaxBytesReader(w, r.Body, maximum), nil
}

// maxImageSpec is the most bytes of an image's description.
const maxImageSpec = 256 * api.KiB

// addImage stores an image of layers, which the body describes in the agent's own JSON.
func (s *Server) addImage(w http.ResponseWriter, r *http.Request, store Images, name string) {
	r.Body = http.MaxBytesReader(w, r.Body, int64(maxImageSpec))
	spec, err := parse(s, w, r, "image",
		func(raw []byte) (api.ImageSpec, error) { return decode.Value[api.ImageSpec](raw, "image") })
	if err != nil {
		s.refuse(w, r, bodyError(err, "image", maxImageSpec))
		return
	}

	img, err := store.Add(r.Context(), spec, name)
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	s.reply(w, http.StatusOK, img)
}

func (s *Server) importLayer(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, true)
	if store == nil {
		return
	}

	digest := r.URL.Query().Get("diff_id")
	if digest == "" {
		s.refuse(w, r, api.Refuse(api.CodeBadRequest, "the layer has no digest: add ?diff_id="))
		return
	}

	body, err := s.archiveBody(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}

	layer, err := store.ImportLayer(r.Context(), body, digest)
	if err != nil {
		s.refuse(w, r, bodyError(err, "layer", s.cfg.MaxArchive))
		return
	}

	s.reply(w, http.StatusOK, layer)
}

func (s *Server) listLayers(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, false)
	if store == nil {
		return
	}
	all, err := store.Layers(r.Context())
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, nonNil(all))
}

func (s *Server) abandonLayer(w http.ResponseWriter, r *http.Request) {
	store := s.images(w, r, true)
	if store == nil {
		return
	}
	if err := store.AbandonLayer(r.Context(), r.PathValue("digest")); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.reply(w, http.StatusOK, struct{}{})
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
