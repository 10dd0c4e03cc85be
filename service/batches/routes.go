package batches

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/openapi"
)

// Routes returns the operations of batches.
func (bs *Batches) Routes() []openapi.Route {
	return append(bs.batchRoutes(), bs.rejudgeRoutes()...)
}

func (bs *Batches) batchRoutes() []openapi.Route {
	return []openapi.Route{
		{Method: "POST", Path: "/v1/batches", Name: "createBatch", Fails: []int{409, 422, 429}, Group: "Batches",
			Summary: "Open a batch of jobs; or open, fill and follow one in one exchange",
			About: "A job is a submission with all its tests, and gets exactly one result, also after a restart of " +
				"the service. With wait=true the body has lines of jobs, after a first line with defaults if there " +
				"are any, and the response is their results as they come, as of GET /v1/batches/{id}/results with " +
				"follow=true; Location has the path of the batch. Jobs of batches get slots that no other request can have.",
			Serve: bs.postBatch, Body: reflect.TypeFor[api.BatchRequest](), Lines: true,
			Example: map[string]any{"defaults": map[string]any{"language": "python",
				"tests": []any{map[string]any{"stdin": "21", "expected": "42"}}}},
			Answer: reflect.TypeFor[api.Batch](), Status: http.StatusCreated, Streamed: reflect.TypeFor[api.JobResult](),
			Params: []openapi.Param{{Name: "Idempotency-Key", In: "header", About: "a request with the same key gets " +
				"the same batch; up to 256 bytes"},
				openapi.Query("wait", "true: the body has the jobs, and the response their results", openapi.YesNo),
				openapi.Query("cancel_on_hangup", "true, with wait: the batch is canceled if the client leaves "+
					"before its end", openapi.YesNo)}},
		{Method: "GET", Path: "/v1/batches", Name: "batches", Fails: []int{422}, Group: "Batches",
			Summary: "The batches of this key, the newest first", Serve: bs.getBatches,
			Answer: reflect.TypeFor[api.Page[api.Batch]](), Params: openapi.Paging},
		{Method: "GET", Path: "/v1/batches/{id}", Name: "batch", Fails: []int{404, 422}, Group: "Batches", Summary: "How far a batch is",
			Serve: bs.getBatch, Answer: reflect.TypeFor[api.Batch]()},
		{Method: "DELETE", Path: "/v1/batches/{id}", Name: "deleteBatch", Fails: []int{404, 422}, Group: "Batches",
			Audit:   api.AuditBatchCanceled,
			Summary: "Cancel a batch; or remove one that has ended, with its results",
			About: "Nothing begins after a cancel, and what runs is ended. Results that there are stay; each other " +
				"job gets one that says that it was canceled.",
			Serve: bs.deleteBatch, Answer: reflect.TypeFor[api.Batch](), NoContent: "the batch had ended, and is removed"},
		{Method: "POST", Path: "/v1/batches/{id}/jobs", Name: "addJobs", Fails: []int{404, 408, 409, 415, 422}, Group: "Batches",
			Summary: "Add jobs to a batch, one in each line",
			About: "Jobs that are counted as taken are on disk. The same lines may be sent again: a job with the " +
				"same id and the same work is counted as repeated; other work with the same id is a 409. Lines that " +
				"are refused are no part of the batch.",
			Serve: bs.postJobs, Raw: core.JSONLines, Answer: reflect.TypeFor[api.JobsTaken]()},
		{Method: "POST", Path: "/v1/batches/{id}/close", Name: "closeBatch", Fails: []int{404, 422}, Group: "Batches",
			Summary: "Say that a batch gets no more jobs", Serve: bs.closeBatch, Answer: reflect.TypeFor[api.Batch]()},
		{Method: "GET", Path: "/v1/batches/{id}/results", Name: "results", Fails: []int{404, 422}, Group: "Batches",
			Summary: "Results of a batch, one in each line, in the order in which they came",
			About: "A client that comes back with after gets each line once. With follow=true the response ends " +
				"when the batch has, with a line whose field end is true: without it lines are missing. Blank lines are signs of life.",
			Serve: bs.getResults, Streamed: reflect.TypeFor[api.JobResult](),
			Params: []openapi.Param{openapi.Query("after", "number of lines that the client has", openapi.Number),
				openapi.Query("limit", "most lines; default 1000, with follow any number; at most 10000", openapi.Number),
				openapi.Query("follow", "true: wait for further results until the batch has ended", openapi.YesNo)}},
		{Method: "GET", Path: "/v1/batches/{id}/events", Name: "batchEvents", Fails: []int{404, 422}, Group: "Batches",
			Summary: "How far a batch is, as it goes on",
			About:   "Server-sent events: progress at most once a second, then done. Each has the whole state.",
			Serve:   bs.batchEvents, Kind: core.EventStream},
	}
}
