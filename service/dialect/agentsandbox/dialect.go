// Package agentsandbox answers as the runtimes in the pods of Kubernetes' agent-sandbox do: the HTTP API of its Python
// runtime, and the files of its sandboxd. A sandbox is a session.
package agentsandbox

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

const (
	headerSandbox = "X-Sandbox-ID" // with which clients tell the router of agent-sandbox which pod they mean

	root = "/box" // to which all paths of clients are relative
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:    dialect.AgentSandbox,
	Of:      "agent-sandbox of August 2026",
	Address: "127.0.0.1:8888",
	Headers: []string{headerSandbox},
	Fail:    fail,
	Routes: []dialect.Route{
		{Method: "GET", Path: "/{$}", Open: true, Plan: planAlive},
		{Method: "POST", Path: "/execute", Plan: planExecute},
		{Method: "POST", Path: "/upload", Upload: true, Plan: planUpload},
		{Method: "GET", Path: "/download/{path...}", Plan: planDownload},
		{Method: "GET", Path: "/list/{path...}", Plan: planList},
		{Method: "GET", Path: "/exists/{path...}", Plan: planExists},

		// Those of sandboxd. A GET is also a HEAD, with which clients ask whether there is something.
		{Method: "GET", Path: "/v1/files/{path...}", Plan: planGet},
		{Method: "PUT", Path: "/v1/files/{path...}", Upload: true, Plan: planPut},
		{Method: "DELETE", Path: "/v1/files/{path...}", NoBody: true, Plan: planDelete},
		{Method: "GET", Path: "/v1/health", Plan: planHealth},
		{Method: "GET", Path: "/v1/metadata", Plan: planMetadata},
	},
}

// planAlive says that there is somebody.
func planAlive(dialect.Request, dialect.Agent) dialect.Plan {
	return answer(struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}{"ok", "Sandbox Runtime is active."})
}

func answer(v any) dialect.Plan { return dialect.Refuse(dialect.JSON(200, "application/json", v)) }

// below is a path of brig's API below the session of a request, with a query.
func below(r dialect.Request, part string, q url.Values) string {
	p := "/v1/sessions/" + url.PathEscape(r.Header[headerSandbox]) + part
	if len(q) > 0 {
		p += "?" + q.Encode()
	}
	return p
}

// of calls plan if the request says of which sandbox it is.
func of(r dialect.Request, plan func() dialect.Plan) dialect.Plan {
	if r.Header[headerSandbox] == "" {
		return refuse(400, invalid, "the header "+headerSandbox+" is missing: it must have the id of a session")
	}
	return plan()
}

// onPath calls plan with the absolute path of the file that a request names. One that leads out of the directory of the
// sandbox is refused, as in the original. Links are followed: with the rights of the session's programs, below its root.
func onPath(r dialect.Request, plan func(name string) dialect.Plan) dialect.Plan {
	return of(r, func() dialect.Plan {
		name, ok := absolute(r.Path["path"])
		if !ok {
			return refuse(403, denied, "the path leads out of the directory of the sandbox, "+root)
		}
		return plan(name)
	})
}

func absolute(name string) (_ string, ok bool) {
	p := path.Join(root, strings.TrimLeft(name, "/"))
	return p, p == root || strings.HasPrefix(p, root+"/")
}

// onReply is a plan that makes a call, and goes on with its reply. A problem is told, unless problem tells it.
func onReply[T any](c dialect.Call, problem func(*api.Problem) *dialect.Plan, then func(T) dialect.Plan) dialect.Plan {
	return dialect.Plan{Call: &c, Then: func(reply dialect.Reply) dialect.Plan {
		if p := reply.Problem; p != nil {
			if told := problem(p); told != nil {
				return *told
			}
			return dialect.Refuse(refusedBy(p))
		}
		var v T
		if len(reply.Body) > 0 {
			if err := json.Unmarshal(reply.Body, &v); err != nil {
				panic(fmt.Sprintf("brig's own answer: %v", err))
			}
		}
		return then(v)
	}}
}

// noOther leaves all problems to fail.
func noOther(*api.Problem) *dialect.Plan { return nil }

// missing tells that nothing has a path in a way of the operation's own.
func missing(told dialect.Plan) func(*api.Problem) *dialect.Plan {
	return func(p *api.Problem) *dialect.Plan {
		if p.Code == api.CodeNotFound {
			return &told
		}
		return nil
	}
}
