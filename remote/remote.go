// Package remote speaks to brig's public service over HTTP.
//
//	c := remote.New("http://localhost:8080", "")
//	done, err := c.Execute(ctx, api.Execute{Code: new("print(2+2)")})
//
// Whatever a program does is a result. An error is the service's, or the network's:
// an *api.Problem when the service said so itself.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A Client is safe for use by many goroutines.
type Client struct {
	HTTP *http.Client // nil: http.DefaultClient. Its redirects to another origin are refused

	// MaxAnswer bounds an answer that is read whole; zero means 1 GiB, more than a service sends
	// with the limits that it has by default.
	MaxAnswer api.Size

	base, key string
}

func (c *Client) most() int64 { return int64(cmp.Or(c.MaxAnswer, api.GiB)) }

// New makes a client of the service at base, such as http://localhost:8080. key may
// be empty where the service has no keys.
func New(base, key string) *Client {
	return &Client{base: strings.TrimRight(base, "/"), key: key}
}

// Run carries out one run and waits for its result. To hang up cancels it.
func (c *Client) Run(ctx context.Context, r api.Run) (res api.Result, err error) {
	return res, c.call(ctx, http.MethodPost, "/v1/runs", r, &res)
}

// Execute is Run for those who want strings.
func (c *Client) Execute(ctx context.Context, e api.Execute) (done api.Executed, err error) {
	return done, c.call(ctx, http.MethodPost, "/execute", e, &done)
}

// Begin has a run carried out without waiting for it.
func (c *Client) Begin(ctx context.Context, r api.Run) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodPost, "/v1/runs?wait=false", r, &s)
}

// Status tells how far a run is, and what became of it.
func (c *Client) Status(ctx context.Context, id string) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(id), nil, &s)
}

// AnyStatus is Status of a run that may be another key's: such a one is found once it
// has ended. Without keys, or with one that has admin; others are refused.
func (c *Client) AnyStatus(ctx context.Context, id string) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(id)+"?all=true", nil, &s)
}

// Cancel cancels a run. One that is done stays as it was.
func (c *Client) Cancel(ctx context.Context, id string) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodDelete, "/v1/runs/"+url.PathEscape(id), nil, &s)
}

// Languages lists what programs may be written in.
func (c *Client) Languages(ctx context.Context) (l []api.Language, err error) {
	return l, c.call(ctx, http.MethodGet, "/v1/languages", nil, &l)
}

// Check looks through a source for dangerous calls, mistakes and secrets, and runs nothing
// of it.
func (c *Client) Check(ctx context.Context, ask api.CheckRequest) (found api.Checked, err error) {
	return found, c.call(ctx, http.MethodPost, "/v1/check", ask, &found)
}

// Health tells how the service is, whatever that is. Without a key, where there are keys,
// it has the status alone.
func (c *Client) Health(ctx context.Context) (h api.ServiceHealth, err error) {
	return h, c.call(ctx, http.MethodGet, "/health", nil, &h)
}

// PutBlob sees to it that the service holds content, which is sent only if it does
// not yet, and returns the digest that a run names it by.
func (c *Client) PutBlob(ctx context.Context, content []byte) (digest string, err error) {
	sum := sha256.Sum256(content)
	digest = hex.EncodeToString(sum[:])
	path := "/v1/blobs/" + digest
	res, err := c.do(ctx, http.MethodHead, path, "", nil)
	if err != nil {
		return "", err
	}
	res.Body.Close()
	if res.StatusCode < 300 {
		return digest, nil
	}
	res, err = c.do(ctx, http.MethodPut, path, "application/octet-stream", bytes.NewReader(content))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return digest, refusal(res)
}

// call sends in as JSON and decodes the answer into out; either may be nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := refusal(res); err != nil || out == nil {
		return err
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, c.most()+1)) // whole, so that the connection is used again
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if int64(len(answer)) > c.most() {
		return fmt.Errorf("%s %s: the answer has more than %s: ask for less output, or fewer entries; or the address is of something else", method, path, api.Size(c.most()))
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}

// send sends in as JSON; nil: nothing.
func (c *Client) send(ctx context.Context, method, path string, in any, accept ...string) (*http.Response, error) {
	if in == nil {
		return c.do(ctx, method, path, "", nil)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return c.do(ctx, method, path, "application/json", bytes.NewReader(body), accept...)
}

func (c *Client) do(ctx context.Context, method, path, kind string, body io.Reader, accept ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for _, kind := range accept {
		req.Header.Add("Accept", kind)
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	own := *h
	own.CheckRedirect = sameOrigin(h.CheckRedirect)
	return own.Do(req)
}

// sameOrigin refuses redirects to another scheme, host or port, before next decides: net/http
// sends the key along to each port of a host, and a body to any host
// (TestRedirectsToAnotherOriginAreRefused).
func sameOrigin(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
			return fmt.Errorf("the service sends the request on to %s://%s, which is not given the key: name that address if it is the service's", req.URL.Scheme, req.URL.Host)
		}
		if next != nil {
			return next(req, via)
		}
		if len(via) >= 10 { // as net/http has it
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
}

// mostProblem is more than any problem has.
const mostProblem = 64 << 10

// refusal is the error that an answer stands for, if it does.
func refusal(res *http.Response) error {
	if res.StatusCode < 300 {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, mostProblem))
	p := new(api.Problem)
	if err != nil || json.Unmarshal(text, p) != nil || p.Code == "" {
		return errors.Join(fmt.Errorf("%s %s: %s: %.200s", res.Request.Method, res.Request.URL.Path, res.Status, bytes.TrimSpace(text)), err)
	}
	return p
}
