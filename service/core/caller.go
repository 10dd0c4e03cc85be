package core

import (
	"cmp"
	"context"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/history"
)

// CheckBrowser refuses requests before any of their body is read: requests of browsers that a foreign page
// caused (API-11).
func (s *Core) CheckBrowser(r *http.Request) error {
	if !s.allowedHost(r.Host) {
		return Problem(http.StatusForbidden,
			api.Refuse(api.CodeForbidden,
				"this service does not have the host name %.100q: use its address, or have the operator add the name with --host",
				r.Host))
	}

	if origin := r.Header.Get("Origin"); origin != "" && origin != "null" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return Problem(http.StatusForbidden,
				api.Refuse(api.CodeForbidden,
					"a web page of %.100q may not use this service: call the service from the server of that page", origin))
		}
	} else if origin == "null" {
		return Problem(http.StatusForbidden,
			api.Refuse(api.CodeForbidden, "a web page without an origin may not use this service"))
	}

	// A page that makes the browser fetch an image or a script from here sends no Origin, but this
	// header (Fetch Metadata, W3C). Following a link to one of our pages is allowed.
	site, leads := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document" && r.Method == http.MethodGet
	if (site == "cross-site" || site == "same-site") && !leads {
		return Problem(http.StatusForbidden,
			api.Refuse(api.CodeForbidden,
				"a web page of another site may not use this service: call the service from the server of that page"))
	}

	return nil
}

// allowedHost checks the Host header. A page whose name was made to point to this address (DNS
// rebinding) still sends its own name there. With keys such a page could do nothing without one.
func (s *Core) allowedHost(host string) bool {
	if s.Config.Keys != nil && len(s.Config.Names) == 0 {
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

	return strings.EqualFold(name, "localhost") ||
		slices.ContainsFunc(s.Config.Names, func(n string) bool { return strings.EqualFold(n, name) })
}

// RequireJSON refuses content types that a browser sends without a preflight request (API-11).
func RequireJSON(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return Problem(http.StatusUnsupportedMediaType,
			api.Refuse(api.CodeBadRequest, "content type %.80q: send application/json", r.Header.Get("Content-Type")))
	}
	return nil
}

type callerKey struct{}

// A Caller is the client that sent the request. The zero value is any client of a service without
// keys.
type Caller struct {
	auth.Key
}

func (c Caller) owner() history.Scope { return history.Scope{Owner: c.Name} }

// WithCaller returns the context of a request of a caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of a request, from its context.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Authenticate adds the caller to the request, by the key that it has.
func (s *Core) Authenticate(r *http.Request) (*http.Request, error) {
	if s.Config.Keys == nil {
		return r, nil
	}

	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return nil, Problem(http.StatusUnauthorized,
			api.Refuse(api.CodeUnauthorized, "this service needs a key: send the header Authorization: Bearer KEY"))
	}

	k, ok := s.Config.Keys.Find(strings.TrimSpace(token))
	if !ok {
		return nil, Problem(http.StatusUnauthorized,
			api.Refuse(api.CodeUnauthorized, "this key is not known: ask the operator for one"))
	}
	return r.WithContext(WithCaller(r.Context(), Caller{Key: k})), nil
}

// CallerNamed returns a key as it is now.
func (s *Core) CallerNamed(name string) (Caller, error) {
	if s.Config.Keys == nil && name == "" {
		return Caller{}, nil
	}
	if s.Config.Keys != nil {
		for _, k := range s.Config.Keys.List() {
			if k.Name == name {
				return Caller{Key: k}, nil
			}
		}
	}
	return Caller{}, api.Refuse(api.CodeUnauthorized, "the key of the batch was removed")
}

// defaultBlobs is the quota of a caller without a key.
const defaultBlobs = 1 * api.GiB

// MaxBlobs is the quota of a caller for all its blobs together.
func (c Caller) MaxBlobs() api.Size { return cmp.Or(c.Blobs, defaultBlobs) }

// SeesAll reports whether the caller may see what belongs to every key.
func (c Caller) SeesAll() bool { return c.Admin || c.Name == "" }
