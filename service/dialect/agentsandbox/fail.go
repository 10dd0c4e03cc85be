package agentsandbox

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// The codes of sandboxd's errors. Its clients read the status, and show the rest.
const (
	notFound    = "NOT_FOUND"
	denied      = "PERMISSION_DENIED"
	invalid     = "INVALID_ARGUMENT"
	conflict    = "CONFLICT"
	unavailable = "UNAVAILABLE"
	internal    = "INTERNAL"
)

// fault is an error of sandboxd. The Python runtime has a message alone.
type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func refusal(status int, code, message string) dialect.Response {
	return dialect.JSON(status, "application/json", fault{code, message})
}

func refuse(status int, code, message string) dialect.Plan {
	return dialect.Refuse(refusal(status, code, message))
}

// fail tells a failure or refusal of brig. Clients send a request again after 500, 502, 503 and 504.
func fail(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case p.Status == 405:
		return refusal(405, invalid, p.Detail)
	case p.Code == api.CodeSessionEnded:
		return refusal(404, notFound, p.Detail)
	case p.Code == api.CodeFileDenied:
		return refusal(403, denied, p.Detail)
	case p.Code == api.CodeFileConflict:
		return refusal(409, conflict, p.Detail)
	case p.Code == api.CodeNoSpace:
		return refusal(507, internal, p.Detail)
	}
	r := refusal(word.Status, word.Text, p.Detail)
	if word.Status == 503 {
		r.SetRetryAfter(p)
	}
	return r
}

func refusedBy(p *api.Problem) dialect.Response {
	return fail(p, dialect.FailureOf(dialect.AgentSandbox, p))
}
