package oci

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
)

// IMG-34: the credentials for one host go to no other: not to the host that a registry names for its
// tokens, and not to one that it redirects to. The control is a registry that gives out tokens itself.
func TestCredentialsStayWithTheirRegistry(t *testing.T) {
	img, _ := threeLayers(t)
	const secret = "user:secret"
	keys := fixedKeys{authn.FromConfig(authn.AuthConfig{Username: "user", Password: "secret"})}
	var leaked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if req.Header.Get("Authorization") != "" || bytes.Contains(body, []byte("secret")) || strings.Contains(req.URL.String(), "secret") {
			leaked.Add(1)
		}
		w.WriteHeader(http.StatusTeapot)
	}))

	defer other.Close()

	for _, tt := range []struct{ name, realm, redirect, fails string }{
		{"its own tokens", "", "", ""},
		{"tokens of another host", strings.Replace(other.URL, "127.0.0.1", "localhost", 1), "", "another host"},
		{"a redirect to another host", "", other.URL, "418"},
	} {
		r := startRegistry(t)
		r.push(t, "i", img)
		asked := false
		r.intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			switch {
			case req.URL.Path == "/token":
				asked = req.Header.Get("Authorization") == "Basic "+base64.StdEncoding.EncodeToString([]byte(secret))
				io.WriteString(w, `{"token":"abc"}`)
			case req.Header.Get("Authorization") != "Bearer abc":
				realm := tt.realm
				if realm == "" {
					realm = r.URL
				}
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="x"`, realm))
				w.WriteHeader(http.StatusUnauthorized)

			case tt.redirect != "" && strings.Contains(req.URL.Path, "/blobs/"):
				http.Redirect(w, req, tt.redirect+req.URL.Path, http.StatusTemporaryRedirect)
			default:
				next.ServeHTTP(w, req)
			}
		})

		_, layers, err := read(t, Request{Reference: r.host() + "/i", Cache: t.TempDir(), Platform: "linux/amd64"}, keys)
		switch {
		case tt.fails == "" && (err != nil || len(layers) != 3 || !asked):
			t.Errorf("%s: %d layers, token asked for %v, %v", tt.name, len(layers), asked, err)
		case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s: %v; want an error with %q", tt.name, err, tt.fails)
		}

		if leaked.Load() != 0 {
			t.Errorf("%s: the credentials went to another host", tt.name)
		}
	}
}

func TestHostsThatMayHaveCredentials(t *testing.T) {
	for _, tt := range []struct {
		registry, scheme, host string
		may                    bool
	}{
		{"index.docker.io", "https", "auth.docker.io", true},
		{"registry.gitlab.com", "https", "gitlab.com", true},
		{"r.example.co.uk:5000", "https", "auth.example.co.uk", true},
		{"localhost:5000", "http", "localhost:5000", true},
		{"index.docker.io", "http", "auth.docker.io", false},
		{"a.example.co.uk", "https", "b.other.co.uk", false},
		{"a.github.io", "https", "b.github.io", false},
		{"10.0.0.1:5000", "https", "10.0.0.1:5001", false},
		{"localhost:5000", "https", "localhost:5001", false},
		{"docker.io", "https", "docker.io.evil.com", false},
		{"docker.io", "https", "evildocker.io", false},
	} {
		if may := mayHaveCredentials(tt.registry, tt.scheme, tt.host); may != tt.may {
			t.Errorf("%s for %s://%s: %v", tt.registry, tt.scheme, tt.host, may)
		}
	}
}

// A recorder notes the requests that would have been sent.
type recorder struct{ sent []string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.sent = append(r.sent, req.URL.Scheme+" "+req.URL.Host)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// IMG-39: no request goes over http to another machine, whatever the address looks like, with and
// without credentials; the controls are https, loopback, and a user who allowed it.
func TestHTTPIsForThisMachineAlone(t *testing.T) {
	for _, tt := range []struct {
		url      string
		insecure bool
		may      bool
	}{
		{"https://10.1.2.3:5000/v2/", false, true},
		{"http://10.1.2.3:5000/v2/", false, false},
		{"http://10.1.2.3:5000/v2/", true, true},
		{"http://172.16.0.1/v2/", false, false},
		{"http://192.168.0.1:5000/v2/", false, false},
		{"http://[fd00::1]:5000/v2/", false, false},
		{"http://169.254.169.254/", false, false},
		{"http://registry.local:5000/v2/", false, false},
		{"http://registry.localhost:5000/v2/", false, false},
		{"http://localhost.example.com/v2/", false, false},
		{"http://127.0.0.1.example.com/v2/", false, false},
		{"http://0x7f000001:5000/v2/", false, false},
		{"http://localhost:5000/v2/", false, true},
		{"http://127.0.0.1:5000/v2/", false, true},
		{"http://127.9.9.9:5000/v2/", false, true},
		{"http://[::1]:5000/v2/", false, true},
	} {
		for _, secret := range []bool{false, true} {
			var r recorder
			req := httptest.NewRequest(http.MethodGet, tt.url, nil)
			g := &guard{next: &r, registry: req.URL.Host, secret: secret, insecure: tt.insecure}
			if secret {
				req.Header.Set("Authorization", "Basic x")
			}
			_, err := g.RoundTrip(req)
			if (err == nil) != tt.may || (len(r.sent) == 1) != tt.may {
				t.Errorf("%s, insecure %v, credentials %v: %v, sent %q", tt.url, tt.insecure, secret, err, r.sent)
			}
		}
	}
}

// IMG-39: a registry at a private address that answers http alone is not asked for an image, and an
// https registry that redirects to http is refused at once.
func TestHTTPIsRefusedWithItsCure(t *testing.T) {
	redirects := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "http://192.0.2.1/v2/", http.StatusTemporaryRedirect)
	}))
	defer redirects.Close()

	r := &registry{}
	client := redirects.Client()
	client.Transport = &guard{next: client.Transport}
	_, err := client.Get(redirects.URL)
	if err = r.explain(err); err == nil || !strings.Contains(err.Error(), "add --insecure") || strings.Contains(err.Error(), "192.0.2.1/") {
		t.Errorf("%v; want the host and the cure", err)
	}

	var again *temporary
	if errors.As(err, &again) {
		t.Error("it would be tried again")
	}
}
