package batches

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/openapi"
)

func nextAfter(n int64) string { return strconv.FormatInt(n, 10) }

// rejudgeRoutes are the operations of rejudges.
func (bs *Batches) rejudgeRoutes() []openapi.Route {
	return []openapi.Route{
		{Method: "POST", Path: "/v1/rejudges", Name: "rejudge", Fails: []int{404, 409, 413, 422, 429}, Group: "Rejudges",
			Summary: "Judge past runs again, with their problems as they are now",
			About: "For runs that a stored problem judged and whose request is kept. They are the jobs of a batch, so that " +
				"requests come first. The old outcomes count until the rejudge is applied. At most 20000 runs at once; a " +
				"rejudge that is neither applied nor discarded is removed like a batch, and then changes nothing.",
			Serve: bs.postRejudge, Body: reflect.TypeFor[api.RejudgeRequest](),
			Example: map[string]any{"problem": "sum", "verdicts": []string{"failed"}},
			Answer:  reflect.TypeFor[api.Rejudge](), Status: http.StatusCreated},
		{Method: "GET", Path: "/v1/rejudges", Name: "rejudges", Fails: []int{422}, Group: "Rejudges",
			Summary: "The rejudges of this key, the newest first", Serve: bs.getRejudges,
			Answer: reflect.TypeFor[api.Page[api.Rejudge]]()},
		{Method: "GET", Path: "/v1/rejudges/{id}", Name: "getRejudge", Fails: []int{404, 422}, Group: "Rejudges",
			Summary: "How far a rejudge is, and how many runs went from which outcome to which", Serve: bs.getRejudge,
			Answer: reflect.TypeFor[api.Rejudge]()},
		{Method: "GET", Path: "/v1/rejudges/{id}/changes", Name: "rejudgeChanges", Fails: []int{404, 422}, Group: "Rejudges",
			Summary: "The runs whose outcome changed", Serve: bs.getChanges, Answer: reflect.TypeFor[api.Page[api.RejudgeChange]](),
			Params: []openapi.Param{openapi.Query("unchanged", "true: also those that did not change or were not judged", openapi.YesNo),
				openapi.Query("after", "number of runs that the client has", openapi.Number),
				openapi.Query("limit", "most runs; default 1000; at most 10000", openapi.Number)}},
		{Method: "POST", Path: "/v1/rejudges/{id}/apply", Name: "applyRejudge", Fails: []int{404, 409, 422}, Group: "Rejudges",
			Summary: "Have the new outcomes count",
			About: "Each run that changed is replaced by the new one: the history, statistics and lists have the new one, " +
				"and GET /v1/runs/{id} of the old one says by which it was replaced. All happens at once or not at all. To apply again has " +
				"no effect.",
			Serve: bs.applyRejudge, Answer: reflect.TypeFor[api.Rejudge]()},
		{Method: "POST", Path: "/v1/rejudges/{id}/discard", Name: "discardRejudge", Fails: []int{404, 409, 422}, Group: "Rejudges",
			Summary: "Keep the old outcomes", About: "A rejudge that is not complete is canceled.",
			Serve: bs.discardRejudge, Answer: reflect.TypeFor[api.Rejudge]()},
	}
}
