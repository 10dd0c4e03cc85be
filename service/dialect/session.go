package dialect

import "github.com/brig-sandbox/brig/api"

// Sessions is what a request asks for of the sessions of its key, instead of runs.
type Sessions struct {
	Project string // those of this project alone; empty: of all
	Name    string // one of them: its id or, in a project, its task; empty: all, in the order of their ids

	// Exec: the request is that of a WebSocket, over which a command is executed in the session of Name; the query says
	// which (service/execsocket). Otherwise Tell tells the sessions: of a name, exactly one.
	Exec bool
	Tell func([]api.Session) Response
}
