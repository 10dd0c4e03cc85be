package sessions

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/execsocket"
	"github.com/brig-sandbox/brig/service/openapi"
)

// Routes returns the operations of sessions.
func (ss *Sessions) Routes() []openapi.Route {
	return []openapi.Route{
		{Method: "POST", Path: "/v1/sessions", Name: "createSession", Agent: true, Fails: []int{404, 409, 410, 422, 429}, Group: "Sessions",
			Summary: "Create a sandbox whose files and processes last",
			About: "Each project and task has at most one session: the request for a second gets a 409 with the " +
				"session_id of the first. With volume, /workspace has the files that the project keeps between " +
				"sessions; only one session may write to them at once, unless all that write have set shared. The request " +
				"waits for room, in order, like a run for a slot. If the client leaves, no session is made.",
			Serve: ss.postSession, Body: reflect.TypeFor[api.SessionRequest](),
			Example: map[string]any{"language": "python", "labels": map[string]any{"project": "course", "task": "ann"}},
			Answer:  reflect.TypeFor[api.Session](), Status: http.StatusCreated},
		{Method: "GET", Path: "/v1/sessions", Name: "sessions", Agent: true, Group: "Sessions", Summary: "The sessions of this key",
			Serve: ss.getSessions, Answer: reflect.TypeFor[api.Page[api.Session]]()},
		{Method: "GET", Path: "/v1/sessions/{id}", Name: "session", Agent: true, Fails: []int{404, 410}, Group: "Sessions",
			Summary: "A session, and what it uses now", Serve: ss.getSession, Answer: reflect.TypeFor[api.Session]()},
		{Method: "DELETE", Path: "/v1/sessions/{id}", Name: "endSession", Agent: true, Fails: []int{404, 410}, Group: "Sessions",
			Summary: "End a session, with all that is in it", Serve: ss.deleteSession, Status: http.StatusNoContent},
		{Method: "POST", Path: "/v1/sessions/{id}/life", Name: "setLife", Agent: true, Fails: []int{404, 410, 422}, Group: "Sessions",
			Summary: "Change when a session ends",
			About: "From now on, sooner or later than before, also while it is in use. Its whole life is at most as long as the " +
				"operator permits.",
			Serve: ss.postLife, Body: reflect.TypeFor[api.LifeRequest](), Example: map[string]any{"ends_in": "10m"},
			Answer: reflect.TypeFor[api.Session]()},
		{Method: "POST", Path: "/v1/sessions/{id}/exec", Name: "exec", Agent: true, Fails: []int{404, 410, 422, 429}, Group: "Sessions",
			Summary: "Execute a command or source in a session",
			About:   "With Accept: text/event-stream, stdout and stderr are sent as they are written, then result or error.",
			Serve:   ss.postExec, Body: reflect.TypeFor[api.Exec](), Example: map[string]any{"source": "print(2+2)"},
			Answer: reflect.TypeFor[api.Result](), Events: true},
		{Method: "GET", Path: "/v1/sessions/{id}/exec", Name: "execSocket", Agent: true, Fails: []int{404, 410, 426}, Group: "Sessions",
			Summary: "Execute a command whose stdin stays open, with a WebSocket; with tty at a terminal",
			About: "The request of a WebSocket. With the subprotocol v5.channel.k8s.io or v4.channel.k8s.io messages are those of " +
				"kubectl exec, and the last one is how the program ended; brig.exec.v1 has signals and events as well. Without a subprotocol each message is what is typed, or " +
				"what the program wrote, and the close frame says how it ended. The program ends with the connection. A terminal " +
				"holds no slot.",
			Serve: ss.getExec, Status: http.StatusSwitchingProtocols, Params: execsocket.Params()},
		{Method: "POST", Path: "/v1/sessions/{id}/processes", Name: "createProcess", Agent: true, Fails: []int{404, 410, 422, 429},
			Group: "Sessions", Summary: "Start a program that stays in a session",
			About: "It holds no slot and has the processor time of processes left running. With detach it lives until it ends or the " +
				"session does; without, it ends with its last connection, or if none comes within a minute. What it writes is kept, at " +
				"most the last 4 MiB, and its end for an hour. The answer comes when it has started.",
			Serve: ss.postProcess, Body: reflect.TypeFor[api.ProcessRequest](),
			Example: map[string]any{"argv": []string{"python3", "-iq"}, "stdin": "open", "detach": true},
			Answer:  reflect.TypeFor[api.Process](), Status: http.StatusCreated},
		{Method: "GET", Path: "/v1/sessions/{id}/processes", Name: "processes", Fails: []int{404, 410}, Group: "Sessions",
			Summary: "The processes of a session, with those that have ended", Serve: ss.getProcesses,
			Answer: reflect.TypeFor[api.Page[api.Process]]()},
		{Method: "GET", Path: "/v1/sessions/{id}/processes/{pid}", Name: "process", Fails: []int{404, 410}, Group: "Sessions",
			Summary: "A process: whether it runs, and how it ended", Serve: ss.getProcess, Answer: reflect.TypeFor[api.Process]()},
		{Method: "GET", Path: "/v1/sessions/{id}/processes/{pid}/follow", Name: "followProcess", Fails: []int{404, 410},
			Group: "Sessions", Summary: "What a process writes, as it is written, and its end",
			About: "A JSON object a line: output, a sign of life, and last the process. A client that reads slowly holds the process " +
				"back; if another one is attached, the oldest output is lost instead. To leave ends a process that is not detached.",
			Serve: ss.getFollow, Answer: reflect.TypeFor[api.ProcessEvent](), Kind: core.JSONLines,
			Params: []openapi.Param{sinceParam, openapi.Query("now", "true: nothing that was written before", openapi.YesNo)}},
		{Method: "POST", Path: "/v1/sessions/{id}/processes/{pid}/stdin", Name: "sendStdin", Fails: []int{404, 409, 410, 413},
			Group: "Sessions", Summary: "Send bytes to a process",
			About: "The answer comes when they are taken. A program that does not read them for a minute makes it a 409, whose detail " +
				"says how many were taken.",
			Serve: ss.postStdin, Raw: "application/octet-stream", Status: http.StatusNoContent,
			Params: []openapi.Param{openapi.Query("eof", "true: nothing follows, and the program gets end of file", openapi.YesNo)}},
		{Method: "POST", Path: "/v1/sessions/{id}/processes/{pid}/signal", Name: "sendSignal", Fails: []int{404, 409, 410},
			Group: "Sessions", Summary: "Send a signal to a process",
			About: "To its process group; at a terminal, to the group in the foreground.",
			Serve: ss.postSignal, Body: reflect.TypeFor[api.SignalRequest](), Example: map[string]any{"signal": "SIGINT"},
			Status: http.StatusNoContent},
		{Method: "POST", Path: "/v1/sessions/{id}/processes/{pid}/resize", Name: "resize", Fails: []int{404, 409, 410},
			Group: "Sessions", Summary: "Change the size of a process's terminal", Serve: ss.postResize,
			Body: reflect.TypeFor[api.TTY](), Example: map[string]any{"rows": 33, "cols": 99}, Status: http.StatusNoContent},
		{Method: "GET", Path: "/v1/sessions/{id}/processes/{pid}/output", Name: "output", Fails: []int{404, 410}, Group: "Sessions",
			Summary: "What a process has written, from an offset on",
			About:   "At most 1 MiB: read on at next. What is not kept any more is told in gap.",
			Serve:   ss.getOutput, Answer: reflect.TypeFor[api.ProcessOutput](),
			Params: []openapi.Param{sinceParam,
				openapi.Query("wait", "how long to wait for output or the end, such as 10s; at most 1m; default 0s", nil)}},
		{Method: "GET", Path: "/v1/sessions/{id}/processes/{pid}/attach", Name: "attach", Fails: []int{404, 409, 410, 426},
			Group: "Sessions", Summary: "Connect to a process, with a WebSocket",
			About: "The request of a WebSocket, with the subprotocols of exec. brig.exec.v1 is v5.channel.k8s.io with two channels more: 5 " +
				"is the name of a signal for the program, and 6 has events: started, offset with gap, and result or error. One client " +
				"at a time is connected.",
			Serve: ss.getAttach, Status: http.StatusSwitchingProtocols,
			Params: []openapi.Param{sinceParam,
				openapi.Query("takeover", "true: a client that is connected leaves, with close code 4001", openapi.YesNo)}},
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
		{Method: "GET", Path: "/v1/sessions/{id}/fs", Name: "pathStatus", Agent: true, Fails: []int{404, 409, 410}, Group: "Sessions",
			Summary: "Describe what has an absolute path",
			About:   withRights + " Of a symbolic link the link itself is described, with its target.",
			Serve:   ss.pathStatus, Answer: reflect.TypeFor[api.PathStatus](),
			Params: []openapi.Param{ofPath, openapi.Query("follow", "true: what a link leads to", openapi.YesNo)}},
		{Method: "DELETE", Path: "/v1/sessions/{id}/fs", Name: "removePath", Agent: true, Fails: []int{404, 409, 410}, Group: "Sessions",
			Summary: "Remove a file, a link, or a directory", About: withRights,
			Serve: ss.removePath, Status: http.StatusNoContent,
			Params: []openapi.Param{ofPath, openapi.Query("recursive", "true: a directory with all that is in it", openapi.YesNo)}},
		{Method: "GET", Path: "/v1/sessions/{id}/fs/list", Name: "listPath", Agent: true, ReadsMuch: true, Fails: []int{404, 409, 410, 429},
			Group: "Sessions", Summary: "List what is below an absolute path", About: withRights,
			Serve: ss.listPath, Answer: reflect.TypeFor[api.PathList](),
			Params: append([]openapi.Param{ofPath, openapi.Query("depth", "levels of directories; default 1, at most 32", openapi.Number)},
				openapi.Paging...)},
		{Method: "GET", Path: "/v1/sessions/{id}/fs/content", Name: "getPath", Agent: true, Fails: []int{404, 409, 410, 416}, Group: "Sessions",
			Summary: "Read a file at an absolute path", About: withRights + " A header Range with one range gets a 206.",
			Serve: ss.getPath, Kind: "application/octet-stream", Ranges: true, Params: []openapi.Param{ofPath}},
		{Method: "PUT", Path: "/v1/sessions/{id}/fs/content", Name: "putPath", Agent: true,
			Fails: []int{404, 409, 410, 413, 507}, Group: "Sessions",
			Summary: "Write a file at an absolute path",
			About:   withRights + " Missing directories are made. The file is written completely, or nothing changes.",
			Serve:   ss.putPath, Raw: "application/octet-stream", Status: http.StatusNoContent,
			Params: []openapi.Param{ofPath, ofMode("as it was, else 0644")}},
		{Method: "POST", Path: "/v1/sessions/{id}/fs/mkdir", Name: "makeDirectory", Agent: true,
			Fails: []int{404, 409, 410, 507}, Group: "Sessions",
			Summary: "Make a directory, and those above it", About: withRights,
			Serve: ss.makePathDir, Answer: reflect.TypeFor[api.PathMade](), Params: []openapi.Param{ofPath, ofMode("0755")}},
		{Method: "POST", Path: "/v1/sessions/{id}/fs/link", Name: "makeLink", Agent: true, Fails: []int{404, 409, 410, 507}, Group: "Sessions",
			Summary: "Make a symbolic link", About: withRights, Serve: ss.linkPath, Status: http.StatusNoContent,
			Params: []openapi.Param{ofPath, openapi.Query("target", "what the link says; it need not exist", nil)}},
		{Method: "POST", Path: "/v1/sessions/{id}/fs/move", Name: "movePath", Agent: true, Fails: []int{404, 409, 410, 507}, Group: "Sessions",
			Summary: "Rename a file or directory",
			About:   withRights + " Between file systems, such as /box and /tmp, only a regular file is moved.",
			Serve:   ss.movePath, Status: http.StatusNoContent,
			Params: []openapi.Param{openapi.Query("from", "absolute path", nil), openapi.Query("to", "absolute path", nil),
				openapi.Query("replace", "true: in place of what has the new path", openapi.YesNo)}},
		{Method: "GET", Path: "/v1/sessions/{id}/fs/tar", Name: "getTar", Agent: true, Fails: []int{404, 409, 410}, Group: "Sessions",
			Summary: "Read a directory as a tar",
			About: withRights + " What they may not read, and what is neither file, directory nor symbolic link, is left out; the " +
				"trailer Brig-Skipped has its number.",
			Serve: ss.getTar, Kind: "application/x-tar", Params: []openapi.Param{ofPath}},
		{Method: "PUT", Path: "/v1/sessions/{id}/fs/tar", Name: "putTar", Agent: true, Fails: []int{404, 409, 410, 413, 507}, Group: "Sessions",
			Summary: "Unpack a tar into a directory",
			About: withRights + " The service reads the archive, which must not be compressed, and writes file by file: if one fails, " +
				"those before it are there. Names lead nowhere but below the directory; owners and times are not kept.",
			Serve: ss.putTar, Raw: "application/x-tar", Answer: reflect.TypeFor[api.Unpacked](), Params: []openapi.Param{ofPath}},
		{Method: "POST", Path: "/v1/sessions/{id}/kernels", Name: "createKernel", Agent: true, Fails: []int{404, 409, 410, 422, 429},
			Group: "Kernels", Summary: "Start an interpreter that keeps its variables from one cell to the next",
			About: "The answer comes when the interpreter is ready. A kernel holds no slot, and ends with its session. A session has " +
				"at most 8.",
			Serve: ss.postKernel, Body: reflect.TypeFor[api.KernelRequest](), Example: map[string]any{"language": "python"},
			Answer: reflect.TypeFor[api.Kernel](), Status: http.StatusCreated},
		{Method: "GET", Path: "/v1/sessions/{id}/kernels", Name: "kernels", Agent: true, Fails: []int{404, 410}, Group: "Kernels",
			Summary: "The kernels of a session", Serve: ss.getKernels, Answer: reflect.TypeFor[api.Page[api.Kernel]]()},
		{Method: "GET", Path: "/v1/sessions/{id}/kernels/{kernel}", Name: "kernel", Agent: true, Fails: []int{404, 410}, Group: "Kernels",
			Summary: "A kernel, and whether it executes a cell", Serve: ss.getKernel, Answer: reflect.TypeFor[api.Kernel]()},
		{Method: "DELETE", Path: "/v1/sessions/{id}/kernels/{kernel}", Name: "deleteKernel", Agent: true, Fails: []int{404, 410},
			Group: "Kernels", Summary: "End a kernel, with its variables and processes", Serve: ss.deleteKernel,
			Status: http.StatusNoContent},
		{Method: "POST", Path: "/v1/sessions/{id}/kernels/{kernel}/execute", Name: "executeCell", Agent: true,
			Fails: []int{404, 410, 413, 422, 429}, Group: "Kernels", Summary: "Execute a cell, and receive its events as they happen",
			About: "The response has one JSON object a line: start, what the cell writes and shows, and end. One cell is executed at a " +
				"time, and others wait in order. A client that hangs up interrupts its cell. All but start, end and keepalive are words " +
				"of the program, which may say anything: they are no evidence of what it did.",
			Serve: ss.postCell, Body: reflect.TypeFor[api.Cell](), Example: map[string]any{"code": "x = 20\nx + 1"},
			Answer: reflect.TypeFor[api.CellEvent](), Kind: core.JSONLines},
		{Method: "POST", Path: "/v1/sessions/{id}/kernels/{kernel}/answer", Name: "answerCell", Agent: true,
			Fails: []int{404, 410, 413, 422, 429}, Group: "Kernels", Summary: "Answer a call of the cell that is executed, by the id of the event ask",
			Serve: ss.postAnswer, Body: reflect.TypeFor[api.KernelAnswer](), Example: map[string]any{"id": "1", "value": 3},
			Status: http.StatusNoContent},
		{Method: "POST", Path: "/v1/sessions/{id}/kernels/{kernel}/interrupt", Name: "interruptKernel", Agent: true,
			Fails: []int{404, 410}, Group: "Kernels", Summary: "Interrupt the cell that is executed",
			About: "The interpreter gets a SIGINT, and keeps its variables. If the cell has not ended after 2 s, the interpreter is killed, " +
				"and the next cell starts another.",
			Serve: ss.interruptKernel, Status: http.StatusNoContent},
		{Method: "POST", Path: "/v1/sessions/{id}/kernels/{kernel}/restart", Name: "restartKernel", Agent: true,
			Fails: []int{404, 410, 422, 429}, Group: "Kernels", Summary: "Start a fresh interpreter instead of the one that there is",
			Serve: ss.restartKernel, Answer: reflect.TypeFor[api.Kernel]()},
		{Method: "POST", Path: "/v1/sessions/{id}/snapshots", Name: "createSnapshot", Agent: true,
			Fails: []int{404, 409, 410, 413, 422, 429, 507}, Group: "Snapshots", Summary: "Make a snapshot of the files of a session",
			About: "It has what is below /box and /tmp, or below the paths that are named, and belongs to the key. The processes of the " +
				"session stand still meanwhile, for at most 30 s. FIFOs, sockets, setuid bits, extended attributes, volumes and processes are " +
				"not in it. New sessions begin with it by snapshot of createSession, each with a copy of its own.",
			Serve: ss.postSnapshot, Body: reflect.TypeFor[api.SnapshotRequest](), Example: map[string]any{"name": "ready"},
			Answer: reflect.TypeFor[api.SnapshotMade](), Status: http.StatusCreated},
		{Method: "GET", Path: "/v1/snapshots", Name: "snapshots", Agent: true, Group: "Snapshots",
			Summary: "The snapshots of this key, the latest first", Serve: ss.getSnapshots,
			Answer: reflect.TypeFor[api.Page[api.Snapshot]]()},
		{Method: "GET", Path: "/v1/snapshots/{snapshot}", Name: "snapshot", Agent: true, Fails: []int{404}, Group: "Snapshots",
			Summary: "A snapshot", Serve: ss.getSnapshot, Answer: reflect.TypeFor[api.Snapshot]()},
		{Method: "DELETE", Path: "/v1/snapshots/{snapshot}", Name: "deleteSnapshot", Agent: true, Fails: []int{404}, Group: "Snapshots",
			Summary: "Remove a snapshot", About: "Sessions that began with it keep their files.",
			Serve: ss.deleteSnapshot, Status: http.StatusNoContent},
		{Method: "GET", Path: "/v1/sessions/{id}/diff", Name: "diffSession", Agent: true, Fails: []int{404, 410, 413, 429}, Group: "Snapshots",
			Summary: "How the files of a session differ from a snapshot",
			About: "The response has one JSON object a line, in the order of a walk through /box and /tmp. Files are compared by their " +
				"content. Without since it is the snapshot with which the session began; if there was none, all files are added.",
			Serve: ss.getDiff, Answer: reflect.TypeFor[api.PathChange](), Kind: core.JSONLines,
			Params: []openapi.Param{openapi.Query("since", "id or name of the snapshot", nil)}},
		{Method: "POST", Path: "/v1/sessions/{id}/take", Name: "takeFiles", Agent: true, Fails: []int{404, 409, 410, 413, 422, 429, 507},
			Group: "Snapshots", Summary: "Copy files of another session of this key into a session, at the same paths",
			About: "Regular files, and directories with all that is in them. A symbolic link, a FIFO, a socket, and a file that the " +
				"programs of that session may not read are refused. If a file fails, those before it are there.",
			Serve: ss.postTake, Body: reflect.TypeFor[api.TakeRequest](),
			Example: map[string]any{"from": "4f1c0a", "paths": []string{"/box/out"}}, Answer: reflect.TypeFor[api.TakenFiles]()},
		{Method: "GET", Path: "/v1/volumes", Name: "volumes", Agent: true, Group: "Sessions", Summary: "The volumes of this key, by project",
			About: "Sessions that request a volume create it, and it outlives them; a temporary one is removed with its run.",
			Serve: ss.getVolumes, Answer: reflect.TypeFor[api.Page[api.Volume]]()},
		{Method: "DELETE", Path: "/v1/volumes/{project}", Name: "deleteVolume", Agent: true, Fails: []int{404, 409}, Group: "Sessions",
			Audit:   api.AuditVolumeRemoved,
			Summary: "Remove a project's volume, with all that is in it",
			About:   "409 while a session uses it.", Serve: ss.deleteVolume, Status: http.StatusNoContent,
			Params: []openapi.Param{
				openapi.Query("run", "the temporary volume of this run, instead of the one that lasts", nil)}},
	}
}

var sinceParam = openapi.Query("since", "offset of the first byte that is wanted; default 0: all that is kept", openapi.Number)

// withRights is part of the description of every operation on absolute paths.
const withRights = "With the rights of the session's programs, and below their root."

var ofPath = openapi.Query("path", "absolute, as the session's programs see it; any bytes, percent-encoded", nil)

func ofMode(absent string) openapi.Param {
	return openapi.Query("mode", "up to three octal digits, such as 0644; default: "+absent, nil)
}

var ofVolume = openapi.Query("volume", "true: in the session's volume, at /workspace, instead of /box", openapi.YesNo)
