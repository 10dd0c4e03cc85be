package problems

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/openapi"
)

// Routes returns the operations of stored problems.
func (ps *Problems) Routes() []openapi.Route {
	return []openapi.Route{
		{Method: "PUT", Path: "/v1/problems/{name}", Name: "putProblem", Fails: []int{404, 413, 422, 502, 503}, Group: "Problems",
			Audit:   api.AuditProblemStored,
			Summary: "Store the package of a problem, by which runs are judged",
			About: "The body is a zip, tar, tar.gz or tar.zst of a package: Kattis, Polygon, CMS, or tests alone. " +
				"It replaces a package of this name, completely or, if it is wrong, not at all. A problem belongs to " +
				"the key that stored it.",
			Serve: ps.putProblem, Raw: "application/zip", Answer: reflect.TypeFor[api.StoredProblem]()},
		{Method: "GET", Path: "/v1/problems", Name: "problems", Fails: []int{422}, Group: "Problems", Summary: "The stored problems of this key",
			Serve: ps.getProblems, Answer: reflect.TypeFor[api.Page[api.StoredProblem]]()},
		{Method: "GET", Path: "/v1/problems/{name}", Name: "problem", Fails: []int{404, 422}, Group: "Problems",
			Summary: "A stored problem, and what its package says",
			About:   "The name may also be a digest, sha256:...", Serve: ps.getProblem,
			Answer: reflect.TypeFor[api.StoredProblem]()},
		{Method: "DELETE", Path: "/v1/problems/{name}", Name: "deleteProblem", Fails: []int{404, 422}, Group: "Problems",
			Audit:   api.AuditProblemRemoved,
			Summary: "Remove a stored problem",
			About:   "Runs that have begun are judged by it.", Serve: ps.deleteProblem, Status: http.StatusNoContent},
		{Method: "POST", Path: "/v1/problems/{name}/verify", Name: "verifyProblem", Agent: true, Fails: []int{404, 413, 422, 429},
			Group: "Problems", Summary: "Find out whether a stored problem is right, by running all its programs",
			About: "As brig problem verify does: validators, outputs for the checker, and every submission of the " +
				"jury, with the margins of the time limit. A package that is wrong is no error: ok is false. It may " +
				"take minutes: with Accept: application/x-ndjson a line is sent after each run, the verification is " +
				"in the last one, whose end is true, and blank lines are signs of life. The runs belong to the key, " +
				"and get slots that no other request can have.",
			Serve: ps.verifyProblem, Body: reflect.TypeFor[api.VerifyRequest](), Example: map[string]any{"repeat": 1},
			Answer: reflect.TypeFor[api.Verification](), Streamed: reflect.TypeFor[api.VerifyLine]()},
	}
}
