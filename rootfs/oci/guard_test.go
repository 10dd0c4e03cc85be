package oci

import (
	"bytes"
	"encoding/base64"
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
