package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A registry is an image in a registry.
type registry struct {
	ref      name.Reference
	client   *http.Client
	cache    *blobCache
	timing   timing
	plain    bool // http is allowed
	progress func(Amount)

	mu   sync.Mutex
	done Amount // guarded by mu
}

// An Amount says how much of the layers has been downloaded.
type Amount struct{ Bytes, Of int64 }

// accepted are the media types of manifests.
var accepted = strings.Join([]string{
	string(types.DockerManifestSchema2), string(types.DockerManifestList), string(types.OCIManifestSchema1),
	string(types.OCIImageIndex),
}, ", ")

// openRegistry logs in to the registry of an image. keys are the user's credentials.
func openRegistry(ctx context.Context, reference string, insecure bool, keys authn.Keychain, cache *blobCache,
	t timing) (*registry, error) {
	ref, err := parseReference(reference, insecure)
	if err != nil {
		return nil, err
	}

	r := &registry{ref: ref, cache: cache, timing: t, plain: insecure ||
		isLoopback(hostOf(ref.Context().RegistryStr())), progress: func(Amount) {}}
	auth, err := authn.Resolve(ctx, keys, ref.Context())
	if err != nil {
		return nil, fmt.Errorf("read the credentials of %s: %w", ref.Context().RegistryStr(), err)
	}

	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout, base.MaxResponseHeaderBytes, base.DisableCompression = t.header, 1<<20, true
	g := &guard{next: base, registry: ref.Context().RegistryStr(), secret: auth != authn.Anonymous, insecure: insecure}
	var authorized http.RoundTripper
	login, stop := context.WithTimeoutCause(context.WithValue(ctx, loginKey{}, true), t.login, errLogin)
	defer stop()

	err = retry(login, t, func() error {
		// The registry is asked for its way of authorization, and for a token.
		ctx, stop := context.WithTimeout(login, t.document)
		defer stop()
		authorized, err = transport.NewWithContext(ctx, ref.Context().Registry, auth, transport.NewUserAgent(g, "brig"),
			[]string{ref.Scope(transport.PullScope)})
		return r.explain(err)
	})
	if errors.Is(context.Cause(login), errLogin) && err != nil {
		return nil, fmt.Errorf("%s: %w within %v: try again later (%w)", ref.Context().RegistryStr(), errLogin, t.login, err)
	}
	if err != nil {
		return nil, err
	}
	if err := cache.expire(time.Now()); err != nil {
		return nil, fmt.Errorf("remove old downloads: %w", err)
	}

	r.client = &http.Client{Transport: authorized, CheckRedirect: checkRedirect}
	return r, nil
}

var errLogin = errors.New("the registry does not answer")

// checkRedirect refuses a redirect from https to http, and endless ones.
func checkRedirect(to *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("the registry redirects in circles")
	}
	if via[0].URL.Scheme == "https" && to.URL.Scheme != "https" {
		return fmt.Errorf("the registry redirects from https to %s", to.URL.Redacted())
	}
	return nil
}

func (r *registry) url(kind, what string) string {
	repo := r.ref.Context()
	// The transport knows by which scheme the registry answered.
	return (&url.URL{Scheme: "https", Host: repo.RegistryStr(),
		Path: "/v2/" + repo.RepositoryStr() + "/" + kind + "/" + what}).String()
}

func (r *registry) manifest(ctx context.Context, digest string) ([]byte, error) {
	what := digest
	if what == "" {
		what = r.ref.Identifier()
	}
	text, err := r.small(ctx, r.url("manifests", what), maxManifest, "the manifest")
	if err == nil && strings.HasPrefix(what, "sha256:") {
		err = checkDigest(text, what, "manifest")
	}
	return text, err
}

func (r *registry) config(ctx context.Context, d descriptor) ([]byte, error) {
	return r.small(ctx, r.url("blobs", d.Digest.String()), maxConfig, "the configuration")
}

// small reads a document of a known largest size.
func (r *registry) small(ctx context.Context, from string, maximum int64, what string) (text []byte, err error) {
	err = retry(ctx, r.timing, func() error {
		ctx, stop := context.WithTimeout(ctx, r.timing.document)
		defer stop()

		res, err := r.get(ctx, from, 0)
		if err != nil {
			return err
		}
		defer res.Body.Close()

		if res.StatusCode != http.StatusOK {
			return r.status(res)
		}
		if res.ContentLength > maximum {
			return fmt.Errorf("%s has %d bytes: the maximum is %d", what, res.ContentLength, maximum)
		}

		text, err = io.ReadAll(io.LimitReader(res.Body, maximum+1))
		if err != nil {
			return &temporary{err: fmt.Errorf("read %s: %w", what, err)}
		}
		if int64(len(text)) > maximum {
			return fmt.Errorf("%s has more than %d bytes", what, maximum)
		}
		return nil
	})

	return text, err
}

// get sends one request, for the part from offset on.
func (r *registry) get(ctx context.Context, from string, offset int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accepted+", */*")
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	res, err := r.client.Do(req)
	return res, r.explain(err)
}

func (r *registry) layer(ctx context.Context, l Layer) (io.ReadCloser, error) {
	return r.cache.open(ctx, r, l)
}

func (r *registry) forget(l Layer) error { return r.cache.remove(l) }

// expect begins a report of how much has been downloaded.
func (r *registry) expect(total int64, progress func(Amount)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.progress = Amount{Of: total}, progress
}

// add reports n more bytes.
func (r *registry) add(n int64) {
	r.mu.Lock()
	r.done.Bytes += n
	now := r.done
	r.mu.Unlock()
	r.progress(now)
}

// status converts an answer that is no success.
func (r *registry) status(res *http.Response) error {
	host := r.ref.Context().RegistryStr()
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%s refuses %s: run docker login %s or podman login %s as the user who runs this, or check "+
			"the name", host, r.ref.Name(), host, host)
	case code == http.StatusNotFound:
		return fmt.Errorf("%w: %s has no %s", ErrNotFound, host, r.ref.Name())
	case code == http.StatusTooManyRequests, code >= 500:
		return &temporary{err: fmt.Errorf("%s answers %s", host, res.Status),
			after: retryAfter(res.Header.Get("Retry-After"), time.Now())}
	default:
		return fmt.Errorf("%s answers %s", host, res.Status)
	}
}

// explain converts an error of the transport.
func (r *registry) explain(err error) error {
	var answer *transport.Error
	var elsewhere *elsewhereError
	var plain *plainError
	var u *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &elsewhere):
		return elsewhere
	case errors.As(err, &answer):
		res := &http.Response{StatusCode: answer.StatusCode,
			Status: fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode)), Header: http.Header{}}
		return r.status(res)
	case errors.As(err, &u) && strings.Contains(u.Err.Error(), "redirect"):
		return err
	case !r.plain && (strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") ||
		strings.Contains(err.Error(), "does not look like a TLS handshake")):
		return fmt.Errorf("%s speaks http: add --insecure if nobody between here and there may change the image or "+
			"read the credentials", r.ref.Context().RegistryStr())
	case errors.As(err, &plain):
		if _, one := err.(*url.Error); one { //nolint:errorlint // the library's list of errors is none
			return plain
		}
		return &temporary{err: err} // https failed, and http would have been next
	}

	var certificate *tls.CertificateVerificationError
	var unknown *net.DNSError
	if errors.As(err, &certificate) || errors.As(err, &unknown) && unknown.IsNotFound {
		return err
	}
	return &temporary{err: err}
}
