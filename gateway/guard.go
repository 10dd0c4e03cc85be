package gateway

import (
	"context"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/history"
)

// guard refuses requests before any of their body is read: of browsers that were led
// here by a foreign page (API-11), and with a body that is no JSON.
func (g *Gateway) guard(r *http.Request) error {
	if !g.mayBeCalled(r.Host) {
		return problem(http.StatusForbidden, api.Refuse(api.CodeForbidden, "host name %.100q is not this service's: ask by its address, or have the operator name it with --host", r.Host))
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "null" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return problem(http.StatusForbidden, api.Refuse(api.CodeForbidden, "a page of %.100q may not use this service: call it from its own server", origin))
		}
	} else if origin == "null" {
		return problem(http.StatusForbidden, api.Refuse(api.CodeForbidden, "a page without an origin may not use this service"))
	}
	// A page that lets the browser fetch a picture or a script from here sends no Origin, and
	// this (Fetch Metadata, W3C). To follow a link to a page of ours is fine.
	site, leads := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.Method == http.MethodGet
	if (site == "cross-site" || site == "same-site") && !leads {
		return problem(http.StatusForbidden, api.Refuse(api.CodeForbidden, "a page of another site may not use this service: call it from its own server"))
	}
	return nil
}

// mayBeCalled decides about the Host header. A page whose name was made to point to
// this address (DNS rebinding) still has its own name there. With keys there is
// nothing that such a page could do without one.
func (g *Gateway) mayBeCalled(host string) bool {
	if g.cfg.Keys != nil && len(g.cfg.Names) == 0 {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || slices.ContainsFunc(g.cfg.Names, func(n string) bool { return strings.EqualFold(n, name) })
}

// wantJSON refuses bodies that a browser sends without asking first (API-11).
func wantJSON(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problem(http.StatusUnsupportedMediaType, api.Refuse(api.CodeBadRequest, "content type %.80q: send application/json", r.Header.Get("Content-Type")))
	}
	return nil
}

type callerKey struct{}

// A caller is who asks. The zero value is whoever, where there are no keys.
type caller struct {
	Key
}

func (c caller) whose() history.Whose { return history.Whose{Owner: c.Name} }

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// withCaller finds the caller by the key that the request brings.
func (g *Gateway) withCaller(r *http.Request) (*http.Request, error) {
	if g.cfg.Keys == nil {
		return r, nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, problem(http.StatusUnauthorized, api.Refuse(api.CodeUnauthorized, "this service needs a key: send the header Authorization: Bearer KEY"))
	}
	k, ok := g.cfg.Keys.Find(strings.TrimSpace(token))
	if !ok {
		return nil, problem(http.StatusUnauthorized, api.Refuse(api.CodeUnauthorized, "this key is not known: ask the operator for one"))
	}
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, caller{k})), nil
}
