package service

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
)

func (bs *batchRoutes) routes() []route {
	return []route{
		{method: "POST", path: "/v1/batches", name: "createBatch", fails: []int{409, 422, 429}, group: "Batches",
			summary: "Open a batch of jobs; or open, fill and follow one in one exchange",
			about:   "A job is a submission with all its tests, and gets exactly one result, also after a restart of the service. With wait=true the body has lines of jobs, after a first line with defaults if there are any, and the response is their results as they come, as of GET /v1/batches/{id}/results with follow=true; Location has the path of the batch. Jobs of batches get slots that no other request can have.",
			serve:   bs.postBatch, body: reflect.TypeFor[api.BatchRequest](), lines: true,
			example: map[string]any{"defaults": map[string]any{"language": "python",
				"tests": []any{map[string]any{"stdin": "21", "expected": "42"}}}},
			answer: reflect.TypeFor[api.Batch](), status: http.StatusCreated, streamed: reflect.TypeFor[api.JobResult](),
			params: []param{{name: "Idempotency-Key", in: "header", about: "a request with the same key gets the same batch; up to 256 bytes"},
				query("wait", "true: the body has the jobs, and the response their results", yesNo),
				query("cancel_on_hangup", "true, with wait: the batch is canceled if the client leaves before its end", yesNo)}},
		{method: "GET", path: "/v1/batches", name: "batches", fails: []int{422}, group: "Batches",
			summary: "The batches of this key, the newest first", serve: bs.getBatches,
			answer: reflect.TypeFor[api.Page[api.Batch]](), params: paging},
		{method: "GET", path: "/v1/batches/{id}", name: "batch", fails: []int{404, 422}, group: "Batches", summary: "How far a batch is",
			serve: bs.getBatch, answer: reflect.TypeFor[api.Batch]()},
		{method: "DELETE", path: "/v1/batches/{id}", name: "deleteBatch", fails: []int{404, 422}, group: "Batches",
			summary: "Cancel a batch; or remove one that has ended, with its results",
			about:   "Nothing begins after a cancel, and what runs is ended. Results that there are stay; each other job gets one that says that it was canceled.",
			serve:   bs.deleteBatch, answer: reflect.TypeFor[api.Batch](), noContent: "the batch had ended, and is removed"},
		{method: "POST", path: "/v1/batches/{id}/jobs", name: "addJobs", fails: []int{404, 408, 409, 415, 422}, group: "Batches",
			summary: "Add jobs to a batch, one in each line",
			about:   "Jobs that are counted as taken are on disk. The same lines may be sent again: a job with the same id and the same work is counted as repeated; other work with the same id is a 409. Lines that are refused are no part of the batch.",
			serve:   bs.postJobs, raw: jsonLines, answer: reflect.TypeFor[api.JobsTaken]()},
		{method: "POST", path: "/v1/batches/{id}/close", name: "closeBatch", fails: []int{404, 422}, group: "Batches",
			summary: "Say that a batch gets no more jobs", serve: bs.closeBatch, answer: reflect.TypeFor[api.Batch]()},
		{method: "GET", path: "/v1/batches/{id}/results", name: "results", fails: []int{404, 422}, group: "Batches",
			summary: "Results of a batch, one in each line, in the order in which they came",
			about:   "A client that comes back with after gets each line once. With follow=true the response ends when the batch has, with a line whose field end is true: without it lines are missing. Blank lines are signs of life.",
			serve:   bs.getResults, streamed: reflect.TypeFor[api.JobResult](),
			params: []param{query("after", "number of lines that the client has", number),
				query("limit", "most lines; default 1000, with follow any number; at most 10000", number),
				query("follow", "true: wait for further results until the batch has ended", yesNo)}},
		{method: "GET", path: "/v1/batches/{id}/events", name: "batchEvents", fails: []int{404, 422}, group: "Batches",
			summary: "How far a batch is, as it goes on",
			about:   "Server-sent events: progress at most once a second, then done. Each has the whole state.",
			serve:   bs.batchEvents, kind: eventStream},
	}
}
