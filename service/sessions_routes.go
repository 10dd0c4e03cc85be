package service

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
)

func (ss *sessions) routes() []route {
	return []route{
		{method: "POST", path: "/v1/sessions", name: "createSession", agent: true, fails: []int{404, 409, 422, 429}, group: "Sessions",
			summary: "Create a sandbox whose files and processes last",
			about:   "Each project and task has at most one session: the request for a second gets a 409 with the session_id of the first. With volume, /workspace has the files that the project keeps between sessions; only one session may write to them at once, unless all that write have set shared.",
			serve:   ss.postSession, body: reflect.TypeFor[api.SessionRequest](),
			example: map[string]any{"language": "python", "labels": map[string]any{"project": "course", "task": "ann"}},
			answer:  reflect.TypeFor[api.Session](), status: http.StatusCreated},
		{method: "GET", path: "/v1/sessions", name: "sessions", agent: true, group: "Sessions", summary: "The sessions of this key",
			serve: ss.getSessions, answer: reflect.TypeFor[api.Page[api.Session]]()},
		{method: "GET", path: "/v1/sessions/{id}", name: "session", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "A session, and what it uses now", serve: ss.getSession, answer: reflect.TypeFor[api.Session]()},
		{method: "DELETE", path: "/v1/sessions/{id}", name: "endSession", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "End a session, with all that is in it", serve: ss.deleteSession, status: http.StatusNoContent},
		{method: "POST", path: "/v1/sessions/{id}/exec", name: "exec", agent: true, fails: []int{404, 410, 422, 429}, group: "Sessions",
			summary: "Execute a command or source in a session",
			about:   "With Accept: text/event-stream, stdout and stderr are sent as they are written, then result or error.",
			serve:   ss.postExec, body: reflect.TypeFor[api.Exec](), example: map[string]any{"source": "print(2+2)"},
			answer: reflect.TypeFor[api.Result](), events: true},
		{method: "GET", path: "/v1/sessions/{id}/files", name: "files", agent: true, reads: boxFiles, fails: []int{404, 410, 429},
			group: "Sessions", summary: "List the files in /box", serve: ss.listFiles, answer: reflect.TypeFor[api.FileList](),
			params: []param{query("dir", "only below this directory", nil), ofVolume}},
		{method: "GET", path: "/v1/sessions/{id}/files/{name...}", name: "getFile", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "Read a file", serve: ss.getFile, kind: "application/octet-stream", params: []param{ofVolume}},
		{method: "PUT", path: "/v1/sessions/{id}/files/{name...}", name: "putFile", agent: true, fails: []int{404, 410, 413}, group: "Sessions",
			summary: "Write a file", serve: ss.putFile, raw: "application/octet-stream",
			status: http.StatusNoContent,
			params: []param{query("executable", "true: the program may execute it", yesNo), ofVolume}},
		{method: "DELETE", path: "/v1/sessions/{id}/files/{name...}", name: "deleteFile", agent: true, fails: []int{404, 410}, group: "Sessions",
			summary: "Remove a file", serve: ss.deleteFile, status: http.StatusNoContent, params: []param{ofVolume}},
		{method: "GET", path: "/v1/volumes", name: "volumes", agent: true, group: "Sessions", summary: "The volumes of this key, by project",
			about: "Sessions that request a volume create it, and it outlives them.", serve: ss.getVolumes,
			answer: reflect.TypeFor[api.Page[api.Volume]]()},
		{method: "DELETE", path: "/v1/volumes/{project}", name: "deleteVolume", agent: true, fails: []int{404, 409}, group: "Sessions",
			summary: "Remove a project's volume, with all that is in it",
			about:   "409 while a session uses it.", serve: ss.deleteVolume, status: http.StatusNoContent},
	}
}

var ofVolume = query("volume", "true: in the session's volume, at /workspace, instead of /box", yesNo)
