package agent

import (
	"net/http"
	"path"
	"runtime/debug"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// routes lists every route of the agent. Any other path is not-found.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/runs", s.run)
	mux.HandleFunc("POST /v1/end", s.end)
	mux.HandleFunc("POST /v1/sessions", s.createSession)
	mux.HandleFunc("GET /v1/sessions", s.listSessions)
	mux.HandleFunc("GET /v1/sessions/{id}", s.getSession)
	mux.HandleFunc("DELETE /v1/sessions/{id}", s.deleteSession)
	mux.HandleFunc("POST /v1/sessions/{id}/use", s.useSession)
	mux.HandleFunc("POST /v1/sessions/{id}/life", s.setLife)
	mux.HandleFunc("POST /v1/sessions/{id}/exec", s.execInSession)
	mux.HandleFunc("GET /v1/sessions/{id}/files", s.listFiles)
	mux.HandleFunc("PUT /v1/sessions/{id}/files/{name...}", s.putFile)
	mux.HandleFunc("GET /v1/sessions/{id}/files/{name...}", s.getFile)
	mux.HandleFunc("DELETE /v1/sessions/{id}/files/{name...}", s.removeFile)
	s.pathRoutes(mux)
	s.snapshotRoutes(mux)
	mux.HandleFunc("GET /v1/volumes", s.listVolumes)
	mux.HandleFunc("DELETE /v1/volumes/{name}", s.removeVolume)
	mux.HandleFunc("POST /v1/packages", s.installPackages)
	mux.HandleFunc("GET /v1/packages", s.listPackages)
	mux.HandleFunc("DELETE /v1/packages/{key}", s.removePackages)
	mux.HandleFunc("PUT /v1/blobs/{digest}", s.putBlob)
	mux.HandleFunc("HEAD /v1/blobs/{digest}", s.hasBlob)
	mux.HandleFunc("GET /v1/blobs/{digest}", s.getBlob)
	mux.HandleFunc("DELETE /v1/blobs/{digest}", s.removeBlob)
	mux.HandleFunc("GET /v1/health", s.health)
	mux.HandleFunc("GET /v1/languages", s.languages)
	mux.HandleFunc("GET /v1/profiles", s.profiles)
	mux.HandleFunc("GET /v1/images", s.listImages)
	mux.HandleFunc("POST /v1/images", s.importImage)
	mux.HandleFunc("GET /v1/images/layers", s.listLayers)
	mux.HandleFunc("POST /v1/images/layers", s.importLayer)
	mux.HandleFunc("DELETE /v1/images/layers/{digest}", s.abandonLayer)
	mux.HandleFunc("DELETE /v1/images/{name}", s.removeImage)
	mux.HandleFunc("POST /v1/images/{name}/verify", s.verifyImage)
	mux.HandleFunc("POST /v1/clean", s.clean)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent has no route %s %s", r.Method, r.URL.Path))
	})
	return mux
}

// ServeHTTP answers one request. A panic in a handler fails only that request (AGT-10).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; strings.HasPrefix(p, "/v1/sessions") && path.Clean(p) != p { // ServeMux would redirect to another file (FIO-03)
		s.refuse(w, r, api.Refuse(api.CodeBadFile, "the path %q has an empty part, . or ..: write it without", p))
		return
	}

	if r.Method != http.MethodGet {
		if !s.enter() {
			s.refuse(w, r, api.Fail(api.CodeStopping,
				"the agent is stopping: send the request to another agent, or retry when it runs again"))
			return
		}
		defer s.leave()
	}
	defer func() {
		if p := recover(); p == http.ErrAbortHandler { //nolint:errorlint // a panic's value is never wrapped
			panic(p) // an incomplete answer: net/http closes the connection
		} else if p != nil {
			s.refuse(w, r, s.panicError(p))
		}
	}()

	ctx, memory := s.withReservation(r.Context())
	defer memory.release() // when the client has read the answer

	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

// panicError logs a panic and returns the error for the caller.
func (s *Server) panicError(p any) error {
	s.log.Error("panic", "value", p, "stack", string(debug.Stack()))
	e := api.Refuse(api.CodeInternal, "internal error in the agent: see its log for the details; please report it")
	return e
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	h := s.cfg.Health()
	if s.isStopping() {
		h.Status = "stopping"
	}
	s.reply(w, http.StatusOK, h)
}

func (s *Server) languages(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Catalog == nil {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent has no languages"))
		return
	}
	s.reply(w, http.StatusOK, nonNil(s.cfg.Catalog.Languages(r.Context())))
}

func (s *Server) profiles(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Catalog == nil {
		s.refuse(w, r, api.Refuse(api.CodeNotFound, "this agent has no profiles"))
		return
	}
	s.reply(w, http.StatusOK, nonNil(s.cfg.Catalog.Profiles()))
}

// nonNil makes an empty list [] in JSON instead of null.
func nonNil[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
