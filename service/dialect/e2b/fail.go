package e2b

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// gone reports whether a problem says that the sandbox has ended. Clients ask by it whether the sandbox runs, and expect
// the status that E2B's proxy has then.
func gone(p *api.Problem) bool { return p.Code == api.CodeSessionEnded }

// statusGone is the status of a request to a sandbox that is not there.
const statusGone = 502

// fault is an error of the API, as clients read it: by the code in the body.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func refusal(status int, message string) dialect.Response {
	return dialect.JSON(status, "application/json", fault{status, message})
}

func refuse(status int, message string) dialect.Plan { return dialect.Refuse(refusal(status, message)) }

// fail tells a failure or refusal of brig to clients of the API.
func fail(p *api.Problem, word dialect.Word) dialect.Response {
	status := word.Status
	if gone(p) || p.Status == 404 || p.Status == 405 {
		status = 404
	}
	r := refusal(status, p.Detail)
	if status == 429 {
		r.SetRetryAfter(p)
	}
	return r
}

// failContent is fail for clients of the files of a sandbox and of its interpreter.
func failContent(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case gone(p):
		return refusal(statusGone, p.Detail)
	case p.Code == api.CodeNoSpace:
		return refusal(507, p.Detail)
	case p.Code == api.CodeFileConflict:
		return refusal(400, p.Detail)
	case p.Code == api.CodeFileDenied:
		return refusal(403, p.Detail)
	}
	return fail(p, word)
}

// failUnary is fail for clients of one message of envd.
func failUnary(p *api.Problem, word dialect.Word) dialect.Response {
	code := word.Text
	switch p.Code {
	case api.CodeSessionEnded:
		code = "unavailable"
	case api.CodeFileDenied:
		code = "permission_denied"
	case api.CodeNoSpace:
		code = "resource_exhausted"
	case api.CodeFileConflict:
		code = "invalid_argument"
	case api.CodeConflict:
		code = "failed_precondition"
	}
	r := unaryError(code, p.Detail)
	if code == "resource_exhausted" && p.Code != api.CodeNoSpace {
		r.SetRetryAfter(p)
	}
	return r
}

// failStream is fail for clients of a stream of envd. They read the code of an answer with the status 200 alone.
func failStream(p *api.Problem, word dialect.Word) dialect.Response {
	told := failUnary(p, word)
	if told.Status == statusGone {
		return told
	}
	var e connectError
	parse(told.Body, &e) // it was written here
	r := streamError(e.Code, e.Message)
	if after := told.Header["Retry-After"]; after != "" {
		r.Header["Retry-After"] = after
	}
	return r
}

// refusedBy tells a problem of a call by a function such as failUnary.
func refusedBy(how func(*api.Problem, dialect.Word) dialect.Response) func(*api.Problem) dialect.Response {
	return func(p *api.Problem) dialect.Response { return how(p, dialect.FailureOf(dialect.E2B, p)) }
}

// planMissing refuses what brig does not have.
func planMissing(what string) func(dialect.Request, dialect.Agent) dialect.Plan {
	return func(dialect.Request, dialect.Agent) dialect.Plan {
		return refuse(501, "brig "+what+": see docs/compatibility.md")
	}
}
