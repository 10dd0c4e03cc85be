// Package kubernetes answers as an API server of Kubernetes does, as far as kubectl exec, kubectl cp and kubectl get pods
// and the libraries of Kubernetes' clients ask: the sessions of a key are pods of one container.
package kubernetes

import (
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:    dialect.Kubernetes,
	Of:      "Kubernetes " + version,
	Address: "127.0.0.1:6443",
	Routes: []dialect.Route{
		// What the API has is no secret: with a key missing, kubectl shows the text of fail for a pod, and not for these.
		{Method: "GET", Path: "/version", Open: true, Plan: planVersion},
		{Method: "GET", Path: "/api", Open: true, Plan: planVersions},
		{Method: "GET", Path: "/apis", Open: true, Plan: planGroups},
		{Method: "GET", Path: "/api/v1", Open: true, Plan: planResources},

		{Method: "GET", Path: "/api/v1/namespaces/{namespace}", Plan: planNamespace},
		{Method: "GET", Path: "/api/v1/pods", Plan: planPods},
		{Method: "GET", Path: "/api/v1/namespaces/{namespace}/pods", Plan: planPods},
		{Method: "GET", Path: "/api/v1/namespaces/{namespace}/pods/{name}", Plan: planPod},
		{Method: "GET", Path: "/api/v1/namespaces/{namespace}/pods/{name}/exec", Plan: planExec},
		{Method: "POST", Path: "/api/v1/namespaces/{namespace}/pods/{name}/exec", NoBody: true, Plan: planSPDY},
	},
	Fail: fail,
}

// everywhere is the namespace that kubectl takes if nobody names one. It has all sessions of the key.
const everywhere = "default"

// projectOf is the project of a namespace; empty: all.
func projectOf(r dialect.Request) string {
	if r.Path["namespace"] == everywhere {
		return ""
	}
	return r.Path["namespace"]
}

// namespaceOf is the namespace of a session. A project that is no name of a namespace, as client-go checks them, has none.
func namespaceOf(s api.Session) string {
	project := s.Labels.Project
	if project == "" || project == "." || project == ".." || strings.ContainsAny(project, "/%") {
		return everywhere
	}
	return project
}

// planNamespace answers kubectl, which asks whether a namespace is there if a pod of it is not: each has a project's
// sessions, if only none.
func planNamespace(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return answer(namespace{kindOf("Namespace", "v1"), metadata{Name: r.Path["namespace"]}, namespaceStatus{"Active"}})
}

// planExec has a command executed over a WebSocket. Its query is that of brig's own.
func planExec(r dialect.Request, _ dialect.Agent) dialect.Plan {
	if refused, is := refuseContainer(r); is {
		return refused
	}
	return dialect.Plan{Sessions: &dialect.Sessions{Project: projectOf(r), Name: r.Path["name"], Exec: true}}
}

// refuseContainer refuses a container that a session does not have: kubectl checks no name that a person gave it.
func refuseContainer(r dialect.Request) (p dialect.Plan, is bool) {
	for _, name := range r.Query["container"] {
		if name != "" && name != box {
			return refuse(fmt.Sprintf("container %.80q is not valid for pod %.80q: a session has one container, %s, which need not be named",
				name, r.Path["name"], box)), true
		}
	}
	return p, false
}

// planSPDY refuses a client that speaks SPDY: kubectl does so when it got no WebSocket, and shows this answer alone. So it
// says first what is wrong with the name or the key.
func planSPDY(r dialect.Request, _ dialect.Agent) dialect.Plan {
	if refused, is := refuseContainer(r); is {
		return refused
	}
	return dialect.Plan{Sessions: &dialect.Sessions{Project: projectOf(r), Name: r.Path["name"],
		Tell: func([]api.Session) dialect.Response { return refusal(400, "BadRequest", needsSocket, 0) }}}
}

const needsSocket = "brig executes commands over a WebSocket, and this request is of SPDY or of none: use kubectl 1.31 or newer " +
	"(1.29 and 1.30: set KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true); if it is newer, let the proxy before brig pass WebSockets on"

func planVersion(dialect.Request, dialect.Agent) dialect.Plan {
	return answer(versionInfo{"1", "32", "v" + version, "linux/amd64"})
}

func planVersions(dialect.Request, dialect.Agent) dialect.Plan {
	return answer(apiVersions{kindOf("APIVersions", ""), []string{"v1"}, []string{}})
}

func planGroups(dialect.Request, dialect.Agent) dialect.Plan {
	return answer(groupList{kindOf("APIGroupList", "v1"), []string{}})
}

func planResources(dialect.Request, dialect.Agent) dialect.Plan {
	return answer(resourceList{kindOf("APIResourceList", "v1"), "v1", []resource{
		{Name: "pods", Singular: "pod", Namespaced: true, Kind: "Pod", Verbs: []string{"get", "list"}, Short: []string{"po"}},
		{Name: "pods/exec", Namespaced: true, Kind: "PodExecOptions", Verbs: []string{"create", "get"}},
	}})
}

func answer(v any) dialect.Plan { return dialect.Refuse(respond(200, v)) }

func respond(status int, v any) dialect.Response { return dialect.JSON(status, "application/json", v) }
