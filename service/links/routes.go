package links

import (
	"net/http"
	"reflect"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/openapi"
)

// Routes returns the operations of links.
func (ls *Links) Routes() []openapi.Route {
	return []openapi.Route{
		{Method: "POST", Path: "/v1/runs/{id}/links", Name: "linkRun", Fails: []int{404, 409, 429}, Group: "Runs",
			Audit:   api.AuditLinkMade,
			Summary: "Make a link to a run, for somebody without a key",
			About: "Who has the token sees the outcome of this run, and its place in the queue while it waits; nothing else " +
				"unless show says so. The service keeps a hash of the token, so the token is in this answer alone. The link " +
				"ends by itself, after a week unless lives says otherwise, with the run in the history, and with the key.",
			Serve: ls.post, Body: reflect.TypeFor[api.RunLinkRequest](), Status: http.StatusCreated,
			Example: map[string]any{"show": []string{"first_failed"}, "title": "Exercise 3", "lives": "72h"},
			Answer:  reflect.TypeFor[api.RunLink]()},
		{Method: "GET", Path: "/v1/runs/{id}/links", Name: "runLinks", Fails: []int{404}, Group: "Runs",
			Summary: "The links to a run, without their tokens",
			Serve:   ls.list, Answer: reflect.TypeFor[api.Page[api.RunLink]]()},
		{Method: "DELETE", Path: "/v1/runs/{id}/links/{link}", Name: "revokeLink", Fails: []int{404}, Group: "Runs",
			Audit:   api.AuditLinkRevoked,
			Summary: "End a link to a run", Serve: ls.revoke, Status: http.StatusNoContent},
		{Method: "GET", Path: "/v1/links/{token}", Name: "linkedRun", Open: true, Fails: []int{404, 429}, Group: "Runs",
			Summary: "What a link shows of its run; needs no key",
			About: "A link may be read twice a second. 404 is the same for a token that never opened anything, one that was " +
				"revoked or has expired, and one whose run is no longer kept.",
			Serve: ls.open, Answer: reflect.TypeFor[api.LinkedRun]()},
	}
}
