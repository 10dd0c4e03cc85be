package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Failures describes the statuses of problems; the code in the problem has the details.
var Failures = map[int]string{
	400: "the request is invalid: detail says what to change",
	401: "no key, or an unknown key",
	403: "not allowed for this caller, or for a web page of another host; of a file: for the program of the session",
	404: "it does not exist, or belongs to another key",
	409: "it exists already, in another form; session_id names a session; of a file: its name is taken, or it is of another kind",
	410: "the session has ended",
	408: "the request is large and stalled",
	413: "it is too large",
	415: "the body is not plain JSON",
	416: "the file has no byte of that range",
	422: "it cannot be carried out as it is",
	426: "it is not the request of a WebSocket",
	429: "too many at once: send the request again after Retry-After seconds",
	500: "the service failed; its log has the reason",
	502: "the connection to the agent broke during the request",
	507: "the file system in the session is full",
	503: "not carried out: send the request again after Retry-After seconds",
}

var failureHeaders = map[int]map[string]*huma.Param{
	401: {"WWW-Authenticate": {Description: "Bearer", Schema: &huma.Schema{Type: "string"}}},
	429: {"Retry-After": {Description: "seconds", Schema: &huma.Schema{Type: "integer"}}},
	503: {"Retry-After": {Description: "seconds", Schema: &huma.Schema{Type: "integer"}}},
}

// Failures returns the statuses of the problems that a route can answer with.
func (r Route) Failures() []int {
	all := append([]int{400, 403}, r.Fails...)
	switch {
	case !r.Open:
		all = append(all, 401, 429, 500, 503) // if responses fill their memory quota, or connections their limit
	case r.Name == "health": // a key is optional
		all = append(all, 401)
	}

	if r.Body != nil {
		all = append(all, 408, 413, 415)
	}
	if r.Body != nil || r.Raw != "" {
		all = append(all, 429)
	}
	if r.Agent {
		all = append(all, 502, 503)
	}
	return all
}

var pathParam = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`) })

// Document creates the OpenAPI 3.1 description of the routes from their Go types.
func Document(routes []Route, version string) ([]byte, error) {
	return json.Marshal(describe(routes, version))
}

func describe(routes []Route, version string) *huma.OpenAPI {
	types := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	for of, as := range SchemaTypes {
		types.RegisterTypeAlias(of, as)
	}

	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "brig", Version: version,
			Description: "Runs untrusted programs, each in its own sandbox.\n\n" +
				"Whatever a program does, the response is a verdict with status 200. Errors are RFC 9457 problems: " +
				"`code` is stable, `retry_safe` says whether the same request may be sent again."},
		Components: &huma.Components{Schemas: types,
			SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer",
				Description: "a key of the service, if it has keys"}}},
	}

	failure := &huma.Response{Description: "a problem", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: types.Schema(reflect.TypeFor[api.Problem](), true, "")},
	}}
	for _, r := range routes {
		op := &huma.Operation{
			Method: r.Method, Path: strings.ReplaceAll(r.Path, "...", ""), OperationID: r.Name, Tags: []string{r.Group},
			Summary: r.Summary, Description: r.About,
			Responses: map[string]*huma.Response{"default": failure},
		}

		// The empty alternative says that a request without a key is possible: a service may have no keys.
		if !r.Open {
			op.Security = []map[string][]string{{"key": {}}, {}}
		}

		for _, m := range pathParam().FindAllStringSubmatch(r.Path, -1) {
			op.Parameters = append(op.Parameters,
				&huma.Param{Name: m[1], In: "path", Required: true, Description: pathParamDescription(m[1], r.Group),
					Schema: &huma.Schema{Type: "string"}})
		}

		for _, p := range r.Params {
			of := reflect.TypeFor[string]()
			if p.Of != nil {
				of = p.Of
			}
			op.Parameters = append(op.Parameters,
				&huma.Param{Name: p.Name, In: p.In, Description: p.About, Schema: types.Schema(of, true, p.Name)})
		}

		switch {
		case r.Body != nil:
			op.RequestBody = &huma.RequestBody{Required: true,
				Content: map[string]*huma.MediaType{"application/json": {Schema: types.Schema(r.Body, true,
					""), Example: r.Example}}}
		case r.Raw != "":
			op.RequestBody = &huma.RequestBody{Required: true,
				Content: map[string]*huma.MediaType{r.Raw: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
		}

		if r.Lines {
			op.RequestBody.Content[core.JSONLines] = &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary"}}
		}

		good := &huma.Response{Description: "done"}
		switch {
		case r.Answer != nil:
			good.Content = map[string]*huma.MediaType{"application/json": {Schema: types.Schema(r.Answer, true, r.Name)}}
		case r.Kind == core.EventStream:
			good.Content = map[string]*huma.MediaType{core.EventStream: eventsIn(types)}
		case r.Kind != "":
			good.Content = map[string]*huma.MediaType{r.Kind: {Schema: &huma.Schema{Type: "string"}}}
		}

		if r.Events {
			good.Content[core.EventStream] = eventsIn(types)
		}

		status := r.Status
		if status == 0 {
			status = http.StatusOK
		}

		// A response has one schema for each status and media type. So lines of results have a media type of
		// their own, and a status of their own if the ordinary answer has another one than 200.
		op.Responses[strconv.Itoa(status)] = good
		if r.Streamed != nil {
			lines := &huma.MediaType{Schema: types.Schema(r.Streamed, true, "")}
			switch {
			case r.Answer == nil:
				good.Content = map[string]*huma.MediaType{core.JSONLines: lines}
			case status == http.StatusOK:
				good.Content[core.JSONLines] = lines
			default:
				op.Responses["200"] = &huma.Response{Description: "the results, one in each line",
					Content: map[string]*huma.MediaType{core.JSONLines: lines}}
			}
		}

		if r.Accepted != nil {
			op.Responses["202"] = &huma.Response{Description: "the run is accepted; Location is the path of its " +
				"status and result", Content: map[string]*huma.MediaType{
				"application/json": {Schema: types.Schema(r.Accepted, true, r.Name)},
			}}
		}
		if r.Ranges {
			op.Responses["206"] = &huma.Response{Description: "the range that the header Range asks for", Content: good.Content,
				Headers: map[string]*huma.Param{"Content-Range": {Description: "the range, and the size of the whole",
					Schema: &huma.Schema{Type: "string"}}}}
			op.Parameters = append(op.Parameters, &huma.Param{Name: "Range", In: "header",
				Description: "one range, such as bytes=0-1023", Schema: &huma.Schema{Type: "string"}})
		}
		if r.NoContent != "" {
			op.Responses["204"] = &huma.Response{Description: r.NoContent}
		}

		for _, status := range r.Failures() {
			op.Responses[strconv.Itoa(status)] = &huma.Response{Description: Failures[status], Headers: failureHeaders[status],
				Content: failure.Content}
		}

		if r.Unavailable != nil {
			op.Responses["503"] = &huma.Response{Description: "not ready",
				Content: map[string]*huma.MediaType{"application/json": {Schema: types.Schema(r.Unavailable, true, r.Name)}}}
		}

		doc.AddOperation(op)
	}

	return doc
}
