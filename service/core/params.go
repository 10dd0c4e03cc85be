package core

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/history"
)

// OwnerOf returns the owner whose runs the caller asks for.
func OwnerOf(r *http.Request) (history.Scope, error) {
	c := CallerOf(r.Context())
	all, err := Flag(r.URL.Query(), "all")
	switch {
	case err != nil || !all:
		return c.owner(), err
	case !c.SeesAll():
		return history.Scope{},
			api.Refuse(api.CodeForbidden,
				"all=true shows the runs of all keys, and this key may not read them: have the operator set admin on it")
	}
	return history.Scope{Everyone: true}, nil
}

// Flag parses a parameter that is true or false; false if it is absent.
func Flag(q url.Values, name string) (bool, error) {
	v := q.Get(name)
	if v == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, api.Refuse(api.CodeBadRequest, "%s=%.20q: write true or false", name, v)
	}
	return b, nil
}
