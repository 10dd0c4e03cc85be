package kubernetes

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// refusal is an answer that says what is wrong. A client that reads after how many seconds to come back does so if it is
// not 0.
func refusal(code int, reason, message string, retryAfter int) dialect.Response {
	return respond(code, status{kind: kindOf("Status", "v1"), Status: "Failure", Message: message, Reason: reason,
		Details: details{retryAfter}, Code: code})
}

// refuse is a plan that refuses a request for a fault of the caller.
func refuse(message string) dialect.Plan {
	return dialect.Refuse(refusal(400, "BadRequest", message, 0))
}

// fail tells a failure or refusal of brig.
func fail(p *api.Problem, word dialect.Word) dialect.Response {
	switch {
	case p.Status == 426: // a proxy has taken the header Upgrade away
		return refusal(426, word.Text, needsSocket, 0)
	case p.Status == 405:
		return refusal(405, "MethodNotAllowed", p.Detail, 0)
	case p.Code == api.CodeSessionEnded: // a client learns by this whether a pod is still there
		return refusal(404, "NotFound", p.Detail, 0)
	case word.Status == 401:
		return refusal(401, word.Text, p.Detail+"; kubectl sends the KEY of --token by https:// alone, and drops it over http://", 0)
	case word.Status == 503:
		seconds := max(p.RetryAfter, 1)
		r := refusal(503, word.Text, p.Detail, seconds)
		r.SetRetryAfter(p)
		return r
	}
	return refusal(word.Status, word.Text, p.Detail, 0)
}
