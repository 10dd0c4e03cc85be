package core

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

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

// Moment parses a parameter that is a time; the zero time if it is absent.
func Moment(q url.Values, name string) (time.Time, error) {
	v := q.Get(name)
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return t, api.Refuse(api.CodeBadRequest, "%s=%.40q: write a time as 2006-01-02T15:04:05Z", name, v)
	}
	return t, nil
}

// PageLimit parses the parameter limit; zero if it is absent.
func PageLimit(q url.Values) (int, error) {
	v := q.Get("limit")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, api.Refuse(api.CodeBadRequest, "limit=%.20q: write a number from 1 to 10000", v)
	}
	return n, nil
}
