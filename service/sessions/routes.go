package sessions

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/openapi"
)

// Routes returns the operations of sessions.
func (ss *Sessions) Routes() []openapi.Route {
	return []openapi.Route{
		{Method: "POST", Path: "/v1/sessions", Name: "createSession", Agent: true, Fails: []int{404, 409, 422, 429}, Group: "Sessions",
			Summary: "Create a sandbox whose files and processes last",
			About: "Each project and task has at most one session: the request for a second gets a 409 with the " +
				"session_id of the first. With volume, /workspace has the files that the project keeps between " +
				"sessions; only one session may write to them at once, unless all that write have set shared.",
			Serve: ss.postSession, Body: reflect.TypeFor[api.SessionRequest](),
			Example: map[string]any{"language": "python", "labels": map[string]any{"project": "course", "task": "ann"}},
			Answer:  reflect.TypeFor[api.Session](), Status: http.StatusCreated},
		{Method: "GET", Path: "/v1/sessions", Name: "sessions", Agent: true, Group: "Sessions", Summary: "The sessions of this key",
			Serve: ss.getSessions, Answer: reflect.TypeFor[api.Page[api.Session]]()},
		{Method: "GET", Path: "/v1/sessions/{id}", Name: "session", Agent: true, Fails: []int{404, 410}, Group: "Sessions",
			Summary: "A session, and what it uses now", Serve: ss.getSession, Answer: reflect.TypeFor[api.Session]()},
		{Method: "DELETE", Path: "/v1/sessions/{id}", Name: "endSession", Agent: true, Fails: []int{404, 410}, Group: "Sessions",
			Summary: "End a session, with all that is in it", Serve: ss.deleteSession, Status: http.StatusNoContent},
		{Method: "POST", Path: "/v1/sessions/{id}/exec", Name: "exec", Agent: true, Fails: []int{404, 410, 422, 429}, Group: "Sessions",
			Summary: "Execute a command or source in a session",
			About:   "With Accept: text/event-stream, stdout and stderr are sent as they are written, then result or error.",
			Serve:   ss.postExec, Body: reflect.TypeFor[api.Exec](), Example: map[string]any{"source": "print(2+2)"},
			Answer: reflect.TypeFor[api.Result](), Events: true},
		{Method: "GET", Path: "/v1/sessions/{id}/files", Name: "files", Agent: true, ReadsMuch: true, Fails: []int{404, 410, 429},
			Group: "Sessions", Summary: "List the files in /box", Serve: ss.listFiles, Answer: reflect.TypeFor[api.FileList](),
			Params: []openapi.Param{openapi.Query("dir", "only below this directory", nil), ofVolume}},
		{Method: "GET", Path: "/v1/sessions/{id}/files/{name...}", Name: "getFile", Agent: true, Fails: []int{404, 410}, Group: "Sessions",
			Summary: "Read a file", Serve: ss.getFile, Kind: "application/octet-stream", Params: []openapi.Param{ofVolume}},
		{Method: "PUT", Path: "/v1/sessions/{id}/files/{name...}", Name: "putFile", Agent: true, Fails: []int{404, 410, 413}, Group: "Sessions",
			Summary: "Write a file", Serve: ss.putFile, Raw: "application/octet-stream",
			Status: http.StatusNoContent,
			Params: []openapi.Param{openapi.Query("executable", "true: the program may execute it", openapi.YesNo), ofVolume}},
		{Method: "DELETE", Path: "/v1/sessions/{id}/files/{name...}", Name: "deleteFile", Agent: true, Fails: []int{404, 410}, Group: "Sessions",
			Summary: "Remove a file", Serve: ss.deleteFile, Status: http.StatusNoContent, Params: []openapi.Param{ofVolume}},
		{Method: "GET", Path: "/v1/volumes", Name: "volumes", Agent: true, Group: "Sessions", Summary: "The volumes of this key, by project",
			About: "Sessions that request a volume create it, and it outlives them.", Serve: ss.getVolumes,
			Answer: reflect.TypeFor[api.Page[api.Volume]]()},
		{Method: "DELETE", Path: "/v1/volumes/{project}", Name: "deleteVolume", Agent: true, Fails: []int{404, 409}, Group: "Sessions",
			Summary: "Remove a project's volume, with all that is in it",
			About:   "409 while a session uses it.", Serve: ss.deleteVolume, Status: http.StatusNoContent},
	}
}

var ofVolume = openapi.Query("volume", "true: in the session's volume, at /workspace, instead of /box", openapi.YesNo)
