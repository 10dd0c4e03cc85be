package execsocket

import (
	"net/url"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/openapi"
)

// Params are the parameters of the query, those of kubectl exec and the size of the terminal. The caller does not change
// them.
func Params() []openapi.Param {
	return []openapi.Param{
		openapi.Query("command", "a word of the command; once for each word", nil),
		openapi.Query("tty", "true: stdin, stdout and stderr are one terminal", openapi.YesNo),
		openapi.Query("stdin", "true: the program reads what is sent; default true without a subprotocol, else false", openapi.YesNo),
		openapi.Query("stdout", "false: the program's stdout is not sent", openapi.YesNo),
		openapi.Query("stderr", "false: the program's stderr is not sent", openapi.YesNo),
		openapi.Query("rows", "lines of the terminal; default 24", openapi.Number),
		openapi.Query("cols", "characters of a line of the terminal; default 80", openapi.Number),
		openapi.Query("container", "kubectl sends it; a session is one container", nil),
	}
}

// A Request is what the query of an exec says.
type Request struct {
	Exec                  api.Exec
	Stdin, Stdout, Stderr bool // whether they are connected
}

// Parse parses a query of Params. plain is set if the client speaks no subprotocol.
func Parse(q url.Values, plain bool) (Request, error) {
	ask := Request{Exec: api.Exec{Argv: q["command"]}, Stdin: plain, Stdout: true, Stderr: true}
	if len(ask.Exec.Argv) == 0 {
		return ask, api.Refuse(api.CodeBadRequest, "no command: add a parameter command for each of its words, such as "+
			"?command=bash&tty=true")
	}

	tty := false
	for name, value := range map[string]*bool{"tty": &tty, "stdin": &ask.Stdin, "stdout": &ask.Stdout, "stderr": &ask.Stderr} {
		if !q.Has(name) {
			continue
		}
		is, err := strconv.ParseBool(q.Get(name))
		if err != nil {
			return ask, api.Refuse(api.CodeBadRequest, "parameter %s=%.40q: use true or false", name, q.Get(name))
		}
		*value = is
	}

	var size api.TTY
	for name, value := range map[string]*int{"rows": &size.Rows, "cols": &size.Cols} {
		if !q.Has(name) {
			continue
		}
		n, err := strconv.Atoi(q.Get(name))
		if err != nil || n < 1 || !tty {
			return ask, api.Refuse(api.CodeBadRequest, "parameter %s=%.40q: use a number from 1 to %d, with tty=true", name, q.Get(name),
				api.MaxTTY)
		}
		*value = n
	}

	if tty {
		ask.Exec.TTY = &size
	}
	return ask, ask.Exec.Validate()
}
