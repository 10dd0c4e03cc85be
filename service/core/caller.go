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
	"time"

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
			api.Refuse(api.CodeBadRequest, "content type %.80q: send application/json (curl: -H 'Content-Type: application/json')",
				r.Header.Get("Content-Type")))
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

type dialectKey struct{}

// WithDialect returns a context of a request that came by a dialect, inside another request.
func WithDialect(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, dialectKey{}, name)
}

// DialectOf returns the dialect by which a request came; empty: brig's own API.
func DialectOf(ctx context.Context) string {
	name, _ := ctx.Value(dialectKey{}).(string)
	return name
}

// CallerOf returns the caller of a request, from its context.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

type admittedKey struct{}

// WithAdmitted returns the context of a request inside another one of the caller, who was authenticated there, and counted.
func WithAdmitted(ctx context.Context, c Caller) context.Context {
	return context.WithValue(WithCaller(ctx, c), admittedKey{}, true)
}

// IsAdmitted reports whether a request is inside another one, see WithAdmitted.
func IsAdmitted(ctx context.Context) bool {
	is, _ := ctx.Value(admittedKey{}).(bool)
	return is
}

// Authenticate adds the caller to the request, by the key that it has in the header Authorization, or in one of the
// other headers.
func (s *Core) Authenticate(r *http.Request, others ...string) (*http.Request, error) {
	if s.Config.Keys == nil || IsAdmitted(r.Context()) {
		return r, nil
	}

	token := keyIn(r, others)
	if token == "" {
		return nil, Problem(http.StatusUnauthorized,
			api.Refuse(api.CodeUnauthorized, "this service needs a key: send the header Authorization: Bearer KEY"))
	}

	k, ok := s.Config.Keys.Find(token)
	if !ok {
		return nil, Problem(http.StatusUnauthorized,
			api.Refuse(api.CodeUnauthorized, "this key is not known: ask the operator for one"))
	}
	s.Activity.Saw(k.Name, time.Now())
	return r.WithContext(WithCaller(r.Context(), Caller{Key: k})), nil
}

// The cookie of a browser that has logged in, and the header that its page sends with it.
const (
	LoginCookie = "brig-login"
	PageHeader  = "X-Brig-Page"
)

// AuthenticateAPI is Authenticate for brig's own API, which a browser that has logged in may also use by its cookie.
//
// A browser sends a cookie for whatever page makes it send a request. CheckBrowser has refused those of foreign pages by
// then, and SameSite=Strict keeps the cookie from them. The header, which a form cannot set, is a third lock for
// requests that change something (API-11, TestCookiesOfThePage).
func (s *Core) AuthenticateAPI(r *http.Request) (*http.Request, error) {
	cookie, err := r.Cookie(LoginCookie)
	if s.Config.Keys == nil || err != nil || r.Header.Get("Authorization") != "" {
		return s.Authenticate(r)
	}

	k, ok := s.Logins.Find(cookie.Value, time.Now(), s.Config.Keys)
	if !ok {
		return nil, Problem(http.StatusUnauthorized,
			api.Refuse(api.CodeUnauthorized, "this login has ended: log in again, at /ui/login"))
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get(PageHeader) == "" {
		return nil, Problem(http.StatusForbidden,
			api.Refuse(api.CodeForbidden, "a cookie alone changes nothing: send the header %s: 1 with it, or a key instead", PageHeader))
	}
	s.Activity.Saw(k.Name, time.Now())
	return r.WithContext(WithCaller(r.Context(), Caller{Key: k})), nil
}

// keyIn returns the key of a request; empty: it has none.
func keyIn(r *http.Request, others []string) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
		return token
	}
	for _, name := range others {
		if token := strings.TrimSpace(r.Header.Get(name)); token != "" {
			return token
		}
	}
	return ""
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
