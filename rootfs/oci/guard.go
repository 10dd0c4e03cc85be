package oci

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// A guard is below everything that sends requests. It refuses one that would take the user's
// credentials to another host than the registry's: a registry can name any host as the one that gives
// out tokens, and can redirect to any (IMG-34). Another host of the same domain may have them, over
// https: auth.docker.io gives out the tokens of index.docker.io.
//
// It refuses http to any host but this machine, unless the user allowed it: the library below speaks
// http to private addresses and to names in .localhost when https does not answer at once, so that an
// attacker between here and there, who only delays packets, would get the credentials and choose the
// image (IMG-39).
type guard struct {
	next     http.RoundTripper
	registry string // host, perhaps with a port
	secret   bool   // there are credentials
	insecure bool   // the user allowed http
}

// A plainError says that a request would have gone over http.
type plainError struct{ host string }

func (e *plainError) Error() string {
	return fmt.Sprintf("%s is to be asked over http: nothing was sent; give the registry a certificate, or add "+
		"--insecure if nobody between here and there may change the image or read the credentials", e.host)
}

// An elsewhereError says that credentials would have gone to another host.
type elsewhereError struct{ registry, host string }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("%s wants the credentials to be sent to %s, which is another host: nothing was sent; log out "+
		"of %[1]s if the image is public", e.registry, e.host)
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !g.insecure && !isLoopback(r.URL.Hostname()) {
		return nil, &plainError{r.URL.Host}
	}

	carries := r.Header.Get("Authorization") != "" ||
		r.Method != http.MethodGet && r.Method != http.MethodHead // a token is asked for with POST, too
	if g.secret && carries && !mayHaveCredentials(g.registry, r.URL.Scheme, r.URL.Host) {
		return nil, &elsewhereError{g.registry, r.URL.Host}
	}

	res, err := g.next.RoundTrip(r)
	if err == nil && r.Context().Value(loginKey{}) != nil {
		res.Body = &bounded{io.LimitReader(res.Body, maxLogin), res.Body}
	}
	return res, err
}

// loginKey marks the context of requests that log in. The library reads the bodies of their answers to
// the end, which a registry may never send (IMG-40).
type loginKey struct{}

// maxLogin is the most bytes of an answer to a request that logs in. Tokens have a few KiB.
const maxLogin = 64 << 10

// A bounded body ends early.
type bounded struct {
	io.Reader
	io.Closer
}

// hostOf returns a host without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// isLoopback reports whether a host is this machine by its address, or by the one name that means it
// everywhere.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
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
	host = hostOf(host)
	if net.ParseIP(host) != nil {
		return ""
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(strings.TrimSuffix(host, ".")))
	if err != nil {
		return ""
	}
	return d
}
