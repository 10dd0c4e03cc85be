// Package openapi describes operations: each has its handler with its documentation, from which the OpenAPI
// document is made.
package openapi

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Route is one operation of the API, with its documentation.
type Route struct {
	Method, Path string
	Name         string // operationId
	Group        string
	Summary      string
	About        string
	Serve        func(http.ResponseWriter, *http.Request) error

	Open        bool         // requires no key
	Body        reflect.Type // nil: no body, or not JSON
	Example     any          // of the body
	Raw         string       // content type of a body that is not JSON
	Lines       bool         // the body may be lines of JSON instead; the operation checks which
	Streamed    reflect.Type // of each line of a response that has lines of JSON, instead of the answer if there is one; nil: none
	Answer      reflect.Type // of 200; nil: none, or not JSON
	Status      int          // instead of 200
	Accepted    reflect.Type // of 202; nil: none
	NoContent   string       // what 204 means in addition to another response; empty: no such response
	Unavailable reflect.Type // of 503 if that is a regular response; nil: it is a problem
	Agent       bool         // it calls the agent
	ReadsMuch   bool         // it waits for a read slot (core.AcquireRead)
	Fails       []int        // statuses of problems, in addition to those of all routes of its kind
	Kind        string       // content type of a response that is not JSON
	Ranges      bool         // a part of it is a 206 to a header Range
	Events      bool         // server-sent events instead, if Accept asks for them
	Params      []Param

	Audit api.AuditAction // what the audit log has of a request that succeeded; empty: nothing
}

// A Param is a parameter of an operation.
type Param struct {
	Name, In, About string
	Of              reflect.Type // nil: a string
}

// Types of parameters.
var (
	YesNo  = reflect.TypeFor[bool]()
	Number = reflect.TypeFor[int64]()
	Moment = reflect.TypeFor[time.Time]()
)

// Query is a parameter of the query string.
func Query(name, about string, of reflect.Type) Param { return Param{name, "query", about, of} }

// Paging are the parameters of a list with pages.
var Paging = []Param{Query("limit", "largest number of entries in a page; default 1000, at most 10000", Number),
	Query("after", "the value of next in the previous page", nil)}

// CheckParams refuses a query with an unknown parameter: a misspelled name would silently have no effect.
// Open routes are not checked, because probes may add any parameter.
func (one Route) CheckParams(given url.Values) error {
	var names []string
	for _, p := range one.Params {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}

	for name := range given {
		switch {
		case len(names) == 0:
			return api.Refuse(api.CodeBadRequest, "parameter %.40q does not exist here: there are no parameters", name)
		case !slices.Contains(names, name):
			return api.Refuse(api.CodeBadRequest, "parameter %.40q does not exist here: the parameters are %v", name, names)
		}
	}

	return nil
}
