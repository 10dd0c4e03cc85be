package service

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
)

func (ps *storedProblems) routes() []route {
	return []route{
		{method: "PUT", path: "/v1/problems/{name}", name: "putProblem", fails: []int{404, 413, 422, 502, 503}, group: "Problems",
			summary: "Store the package of a problem, by which runs are judged",
			about:   "The body is a zip, tar, tar.gz or tar.zst of a package: Kattis, Polygon, CMS, or tests alone. It replaces a package of this name, completely or, if it is wrong, not at all. A problem belongs to the key that stored it.",
			serve:   ps.putProblem, raw: "application/zip", answer: reflect.TypeFor[api.StoredProblem]()},
		{method: "GET", path: "/v1/problems", name: "problems", fails: []int{422}, group: "Problems", summary: "The stored problems of this key",
			serve: ps.getProblems, answer: reflect.TypeFor[api.Page[api.StoredProblem]]()},
		{method: "GET", path: "/v1/problems/{name}", name: "problem", fails: []int{404, 422}, group: "Problems",
			summary: "A stored problem, and what its package says",
			about:   "The name may also be a digest, sha256:...", serve: ps.getProblem,
			answer: reflect.TypeFor[api.StoredProblem]()},
		{method: "DELETE", path: "/v1/problems/{name}", name: "deleteProblem", fails: []int{404, 422}, group: "Problems",
			summary: "Remove a stored problem",
			about:   "Runs that have begun are judged by it.", serve: ps.deleteProblem, status: http.StatusNoContent},
		{method: "POST", path: "/v1/problems/{name}/verify", name: "verifyProblem", agent: true, fails: []int{404, 413, 422, 429},
			group: "Problems", summary: "Find out whether a stored problem is right, by running all its programs",
			about: "As brig problem verify does: validators, outputs for the checker, and every submission of the jury, with the margins of the time limit. A package that is wrong is no error: ok is false. It may take minutes: with Accept: application/x-ndjson a line is sent after each run, the verification is in the last one, whose end is true, and blank lines are signs of life. The runs belong to the key, and get slots that no other request can have.",
			serve: ps.verifyProblem, body: reflect.TypeFor[api.VerifyRequest](), example: map[string]any{"repeat": 1},
			answer: reflect.TypeFor[api.Verification](), streamed: reflect.TypeFor[api.VerifyLine]()},
	}
}
