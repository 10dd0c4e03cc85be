package gateway

import (
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"github.com/brig-sandbox/brig/api"
)

// failures say what the statuses of problems mean; code has the rest.
var failures = map[int]string{
	400: "the request is to be mended",
	401: "no key, or one that is not known",
	403: "this caller, or a page of another host, may not",
	404: "there is none, or it is another key's",
	409: "it is there already; session_id names it",
	410: "the session has ended",
	408: "it is large and stood still",
	413: "it is too large",
	415: "the body is no plain JSON",
	422: "it cannot be carried out as it is",
	429: "too many at a time: come again after Retry-After seconds",
	500: "the service failed; its log has the reason",
	502: "the agent went away meanwhile",
	503: "not carried out: come again after Retry-After seconds",
}

var failureHeaders = map[int]map[string]*huma.Param{
	401: {"WWW-Authenticate": {Description: "Bearer", Schema: &huma.Schema{Type: "string"}}},
	429: {"Retry-After": {Description: "seconds", Schema: &huma.Schema{Type: "integer"}}},
	503: {"Retry-After": {Description: "seconds", Schema: &huma.Schema{Type: "integer"}}},
}

// failures are the statuses of the problems that a route can answer.
func (r route) failures() []int {
	all := append([]int{400, 403}, r.fails...)
	switch {
	case !r.open:
		all = append(all, 401, 429, 500, 503) // where answers are too many to hold, and connections
	case r.name == "health": // a key is optional
		all = append(all, 401)
	}
	if r.body != nil {
		all = append(all, 408, 413, 415)
	}
	if r.body != nil || r.raw != "" {
		all = append(all, 429)
	}
	if r.agent {
		all = append(all, 502, 503)
	}
	return all
}

var pathParam = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)

// document makes the OpenAPI 3.1 description of the routes from their Go types.
func document(routes []route, version string) ([]byte, error) {
	return json.Marshal(describe(routes, version))
}

func describe(routes []route, version string) *huma.OpenAPI {
	types := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	for of, as := range forms {
		types.RegisterTypeAlias(of, as)
	}
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "brig", Version: version, Description: "Runs programs nobody trusts, each in a sandbox of its own.\n\n" +
			"Whatever a program does is a verdict and a 200. Errors are RFC 9457 problems: `code` is stable, `retry_safe` says whether the same request may be sent again."},
		Components: &huma.Components{Schemas: types, SecuritySchemes: map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer", Description: "a key of the service, where it has keys"}}},
	}
	failure := &huma.Response{Description: "a problem", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: types.Schema(reflect.TypeFor[api.Problem](), true, "")},
	}}
	for _, r := range routes {
		op := &huma.Operation{
			Method: r.method, Path: strings.ReplaceAll(r.path, "...", ""), OperationID: r.name, Tags: []string{r.group}, Summary: r.summary, Description: r.about,
			Responses: map[string]*huma.Response{"default": failure},
		}
		if !r.open {
			op.Security = []map[string][]string{{"key": {}}, {}}
		}
		for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
			op.Parameters = append(op.Parameters, &huma.Param{Name: m[1], In: "path", Required: true, Description: inPath(m[1], r.group), Schema: &huma.Schema{Type: "string"}})
		}
		for _, p := range r.params {
			of := reflect.TypeFor[string]()
			if p.of != nil {
				of = p.of
			}
			op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: p.in, Description: p.about, Schema: types.Schema(of, true, p.name)})
		}
		switch {
		case r.body != nil:
			op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: types.Schema(r.body, true, ""), Example: r.example}}}
		case r.raw != "":
			op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{r.raw: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
		}
		good := &huma.Response{Description: "done"}
		switch {
		case r.answer != nil:
			good.Content = map[string]*huma.MediaType{"application/json": {Schema: types.Schema(r.answer, true, r.name)}}
		case r.kind == eventStream:
			good.Content = map[string]*huma.MediaType{eventStream: eventsIn(types)}
		case r.kind != "":
			good.Content = map[string]*huma.MediaType{r.kind: {Schema: &huma.Schema{Type: "string"}}}
		}
		if r.events {
			good.Content[eventStream] = eventsIn(types)
		}
		status := r.status
		if status == 0 {
			status = http.StatusOK
		}
		op.Responses[strconv.Itoa(status)] = good
		if r.later != nil {
			op.Responses["202"] = &huma.Response{Description: "it is carried out; Location says where to ask for it", Content: map[string]*huma.MediaType{
				"application/json": {Schema: types.Schema(r.later, true, r.name)},
			}}
		}
		if r.nothing != "" {
			op.Responses["204"] = &huma.Response{Description: r.nothing}
		}
		for _, status := range r.failures() {
			op.Responses[strconv.Itoa(status)] = &huma.Response{Description: failures[status], Headers: failureHeaders[status], Content: failure.Content}
		}
		if r.down != nil {
			op.Responses["503"] = &huma.Response{Description: "not now", Content: map[string]*huma.MediaType{"application/json": {Schema: types.Schema(r.down, true, r.name)}}}
		}
		doc.AddOperation(op)
	}
	return doc
}

// docs serves the description, and a page to read and try it.
func (g *Gateway) docs(mux *http.ServeMux) {
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.oai.openapi+json")
		inTime(w)
		_, _ = w.Write(g.doc) // a client that is gone has nobody to tell
	})
	page := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "brig", SwaggerJSON: "/openapi.json", BasePath: "/docs/", HideCurl: false,
		SettingsUI: map[string]string{"tryItOutEnabled": "true", "persistAuthorization": "false"},
	})
	policy := docsPolicy(page)
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		inTime(w)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", policy)
		found := &foundWriter{ResponseWriter: w}
		if page.ServeHTTP(found, r); found.lost {
			g.refuse(w, r, noPath(r))
		}
	})
	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusFound))
	mux.Handle("GET /{$}", http.RedirectHandler("/docs/", http.StatusFound))
}

// A foundWriter passes on what is there, and leaves it to others to say that something is not.
type foundWriter struct {
	http.ResponseWriter
	lost bool
}

func (f *foundWriter) WriteHeader(status int) {
	if f.lost = status == http.StatusNotFound; !f.lost {
		f.ResponseWriter.WriteHeader(status)
	}
}

func (f *foundWriter) Write(b []byte) (int, error) {
	if f.lost {
		return len(b), nil
	}
	return f.ResponseWriter.Write(b)
}
