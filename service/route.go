package service

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A route is one operation of the API, with its documentation.
type route struct {
	method, path string
	name         string // operationId
	group        string
	summary      string
	about        string
	serve        func(http.ResponseWriter, *http.Request) error

	open        bool         // requires no key
	body        reflect.Type // nil: no body, or not JSON
	example     any          // of the body
	raw         string       // content type of a body that is not JSON
	lines       bool         // the body may be lines of JSON instead; the operation checks which
	streamed    reflect.Type // of each line of a response that has lines of JSON, instead of the answer if there is one; nil: none
	answer      reflect.Type // of 200; nil: none, or not JSON
	status      int          // instead of 200
	accepted    reflect.Type // of 202; nil: none
	noContent   string       // what 204 means in addition to another response; empty: no such response
	unavailable reflect.Type // of 503 if that is a regular response; nil: it is a problem
	agent       bool         // it calls the agent
	reads       readKind     // the kind of data that it reads much of
	fails       []int        // statuses of problems, in addition to those of all routes of its kind
	kind        string       // content type of a response that is not JSON
	events      bool         // server-sent events instead, if Accept asks for them
	params      []param
}

type param struct {
	name, in, about string
	of              reflect.Type // nil: a string
}

var (
	yesNo  = reflect.TypeFor[bool]()
	number = reflect.TypeFor[int64]()
	moment = reflect.TypeFor[time.Time]()
)

// query is a parameter of the query string.
func query(name, about string, of reflect.Type) param { return param{name, "query", about, of} }

var paging = []param{query("limit", "largest number of entries in a page; default 1000, at most 10000", number),
	query("after", "the value of next in the previous page", nil)}

// checkParams refuses a query with an unknown parameter: a misspelled name would silently have no effect.
// Open routes are not checked, because probes may add any parameter.
func (one route) checkParams(given url.Values) error {
	var names []string
	for _, p := range one.params {
		if p.in == "query" {
			names = append(names, p.name)
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
