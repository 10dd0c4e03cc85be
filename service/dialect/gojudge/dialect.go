// Package gojudge answers as go-judge does (github.com/criyle/go-judge), the sandbox of Hydro and other online judges:
// commands with their files and limits, once, with the files that they left.
//
// It has the operations /run and /file of go-judge's REST API. /stream and /ws are not there.
package gojudge

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// Image is the name of the stored image in which all commands run. The original has one file system for all, too.
const Image = "go-judge"

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:    dialect.GoJudge,
	Of:      "go-judge 1.12.2 955585f (2026-07-30)",
	Address: "127.0.0.1:5050",
	Routes: []dialect.Route{
		{Method: "GET", Path: "/version", Open: true, Plan: planVersion},
		{Method: "GET", Path: "/config", Open: true, Plan: planConfig},
		{Method: "POST", Path: "/run", Plan: planRun},
		{Method: "GET", Path: "/file", Plan: planList},
		{Method: "POST", Path: "/file", Form: true, Plan: planUpload},
		{Method: "GET", Path: "/file/{id}", Plan: planRead},
		{Method: "DELETE", Path: "/file/{id}", NoBody: true, Plan: planDelete},
	},
	Fail: fail,
}

// respond makes a response of JSON. Errors are JSON texts.
func respond(status int, v any) dialect.Response {
	return dialect.JSON(status, "application/json; charset=utf-8", v)
}

// refuse is a plan that refuses a request for a fault of the caller.
func refuse(why string) dialect.Plan { return dialect.Refuse(respond(400, why)) }

// empty is a response without a body.
func empty(status int) dialect.Response { return dialect.Response{Status: status} }

// notThere is the original's answer to a path that it does not have.
func notThere() dialect.Response {
	return dialect.Response{Status: 404, Header: map[string]string{"Content-Type": "text/plain"},
		Body: []byte("404 page not found")}
}

// fail tells a failure or refusal of brig.
func fail(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case p.Code == api.CodeNoBlob: // evicted between the plan and the run
		return respond(500, noFile+p.Detail)
	case word.Status == 404: // also for a method that a path does not have
		return notThere()
	case p.Code == api.CodeNoImage:
		return respond(word.Status, p.Detail+" (all commands of go-judge's clients run in the image "+Image+")")
	}

	r := respond(word.Status, p.Detail)
	if dialect.Classes[p.Code] == dialect.Retry || dialect.Classes[p.Code] == "" {
		r.SetRetryAfter(p)
	}
	return r
}

// planVersion is GET /version. Hydro reads buildVersion.
func planVersion(dialect.Request, dialect.Agent) dialect.Plan {
	v := features()
	v["buildVersion"], v["os"] = "v1.12.2-brig", "linux"
	return dialect.Refuse(respond(200, v))
}

// planConfig is GET /config. Hydro reads fixSymlinkEscape. There is no cgroupType, after which it would ask whether the
// kernel is new enough for the original's measurements.
func planConfig(dialect.Request, dialect.Agent) dialect.Plan {
	v := features()
	v["runnerConfig"] = map[string]string{"workDir": workDir}
	return dialect.Refuse(respond(200, v))
}

// features are what a client may use.
func features() map[string]any {
	return map[string]any{
		"copyOutOptional": true, "copyOutTruncate": true, "addressSpaceLimit": true, "procPeak": true,
		"fixSymlinkEscape": true,
		"pipeProxy":        false, "pipeProxyZeroCopy": false, "symlink": true, "stream": false,
	}
}
