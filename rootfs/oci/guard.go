package oci

import (
	"fmt"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// A guard is below everything that sends requests. It refuses one that would take the user's
// credentials to another host than the registry's: a registry can name any host as the one that gives
// out tokens, and can redirect to any (IMG-34). Another host of the same domain may have them, over
// https: auth.docker.io gives out the tokens of index.docker.io.
type guard struct {
	next     http.RoundTripper
	registry string // host, perhaps with a port
	secret   bool   // there are credentials
}

// An elsewhereError says that credentials would have gone to another host.
type elsewhereError struct{ registry, host string }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("%s wants the credentials to be sent to %s, which is another host: nothing was sent; log out of %[1]s if the image is public", e.registry, e.host)
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	carries := r.Header.Get("Authorization") != "" || r.Method != http.MethodGet && r.Method != http.MethodHead // a token is asked for with POST, too
	if g.secret && carries && !mayHaveCredentials(g.registry, r.URL.Scheme, r.URL.Host) {
		return nil, &elsewhereError{g.registry, r.URL.Host}
	}
	return g.next.RoundTrip(r)
}

// mayHaveCredentials reports whether a host may have the credentials for a registry.
func mayHaveCredentials(registry, scheme, host string) bool {
	if host == registry {
		return true
	}
	return scheme == "https" && domain(host) != "" && domain(host) == domain(registry)
}

// domain returns the domain that somebody registered, such as docker.io; empty for an address and for a
// name without one.
func domain(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if net.ParseIP(strings.Trim(host, "[]")) != nil {
		return ""
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(strings.TrimSuffix(host, ".")))
	if err != nil {
		return ""
	}
	return d
}
