// Package client calls brig's public service over HTTP.
//
//	c := client.New("http://localhost:8080", "")
//	done, err := c.Execute(ctx, api.Execute{Code: new("print(2+2)")})
//
// A program's behavior is always a result. An error comes from the service or the network; an error
// that the service reports is an *api.Problem.
package client

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
	HTTP *http.Client // nil: http.DefaultClient. Redirects to another origin are refused

	// MaxAnswer bounds an answer that is read at once; zero means 1 GiB, more than a service with
	// default limits sends.
	MaxAnswer api.Size

	base, key string
}

func (c *Client) answerLimit() int64 { return int64(cmp.Or(c.MaxAnswer, api.GiB)) }

// New makes a client of the service at base, such as http://localhost:8080. key may be empty if the
// service has no keys.
func New(base, key string) *Client {
	return &Client{base: strings.TrimRight(base, "/"), key: key}
}

// Run executes one run and waits for its result. Canceling ctx cancels the run.
func (c *Client) Run(ctx context.Context, r api.Run) (res api.Result, err error) {
	return res, c.call(ctx, http.MethodPost, "/v1/runs", r, &res)
}

// Execute is Run with strings for input and output.
func (c *Client) Execute(ctx context.Context, e api.Execute) (done api.Executed, err error) {
	return done, c.call(ctx, http.MethodPost, "/execute", e, &done)
}

// Begin starts a run without waiting for it.
func (c *Client) Begin(ctx context.Context, r api.Run) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodPost, "/v1/runs?wait=false", r, &s)
}

// Status returns the progress of a run, and its result once it has ended.
func (c *Client) Status(ctx context.Context, id string) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(id), nil, &s)
}

// AnyStatus is Status of a run that may belong to another key; such a run is found once it has
// ended. It needs a key with admin, or a service without keys; other callers are refused.
func (c *Client) AnyStatus(ctx context.Context, id string) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/runs/"+url.PathEscape(id)+"?all=true", nil, &s)
}

// Cancel cancels a run. It does not change a run that is done.
func (c *Client) Cancel(ctx context.Context, id string) (s api.Status, err error) {
	return s, c.call(ctx, http.MethodDelete, "/v1/runs/"+url.PathEscape(id), nil, &s)
}

// Languages lists the languages of the service.
func (c *Client) Languages(ctx context.Context) (l []api.Language, err error) {
	return l, c.call(ctx, http.MethodGet, "/v1/languages", nil, &l)
}

// Check searches a source for dangerous calls, mistakes and secrets. It does not run the source.
func (c *Client) Check(ctx context.Context, request api.CheckRequest) (found api.Checked, err error) {
	return found, c.call(ctx, http.MethodPost, "/v1/check", request, &found)
}

// Health returns the service's status report, whatever the status is. If the service has keys, a
// client without a key gets only the status.
func (c *Client) Health(ctx context.Context) (h api.ServiceHealth, err error) {
	return h, c.call(ctx, http.MethodGet, "/health", nil, &h)
}

// PutBlob makes sure that the service stores content, and returns the digest that runs name it by.
// It sends the content only if the service does not have it yet.
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

// GetBlob writes the content of a blob to a writer, such as that of a file which a run collected with collect.blobs. The
// error of one that is no longer kept has the code unknown-blob. If it fails, a part may have been written.
func (c *Client) GetBlob(ctx context.Context, digest string, to io.Writer) error {
	res, err := c.do(ctx, http.MethodGet, "/v1/blobs/"+url.PathEscape(digest), "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := refusal(res); err != nil {
		return err
	}

	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, sum), res.Body); err != nil {
		return fmt.Errorf("get blob %s: %w", digest, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fmt.Errorf("get blob %s: the content has the digest %s", digest, got)
	}
	return nil
}

// call sends in as JSON and decodes the answer into out; either may be nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	return c.answer(res, out)
}

// answer decodes the answer of a request into out, which may be nil, and closes it.
func (c *Client) answer(res *http.Response, out any) error {
	defer res.Body.Close()

	method, path := res.Request.Method, res.Request.URL.RequestURI()
	if err := refusal(res); err != nil || out == nil {
		return err
	}

	answer, err := readAll(io.LimitReader(res.Body, c.answerLimit()+1), min(res.ContentLength, c.answerLimit()))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if int64(len(answer)) > c.answerLimit() {
		return fmt.Errorf("%s %s: the answer has more than %s: ask for less output or fewer entries, or check that "+
			"the address is that of a brig service", method, path, api.Size(c.answerLimit()))
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}

// maxGrown is the most memory that an answer gets before it is read, because its header says how long it is.
const maxGrown = 64 << 20

// readAll reads to the end, so that the connection is reused. length is how much will come; negative: unknown. A buffer
// that has that size at once is in memory once, and one that grows up to twice (TestAnswersAreInMemoryOnce).
func readAll(from io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(from)
	}

	var all bytes.Buffer
	all.Grow(int(min(length, maxGrown)) + bytes.MinRead)
	_, err := all.ReadFrom(from)
	return all.Bytes(), err
}

// send sends in as JSON; nil sends no body.
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

func (c *Client) do(ctx context.Context, method, path, kind string, body io.Reader,
	accept ...string) (*http.Response, error) {
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

// sameOrigin refuses redirects to another scheme, host or port, before next decides: net/http sends
// the key to every port of a host, and a body to any host
// (TestRedirectsToAnotherOriginAreRefused).
func sameOrigin(next func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
			return fmt.Errorf("the service redirects to %s://%s, and the key is not sent there: use that address if "+
				"it belongs to the service", req.URL.Scheme, req.URL.Host)
		}
		if next != nil {
			return next(req, via)
		}
		if len(via) >= 10 { // the limit of net/http
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
}

// maxProblem is the most that is read of a problem, more than any problem has.
const maxProblem = 64 << 10

// refusal returns the error that an answer stands for, or nil for a success.
func refusal(res *http.Response) error {
	if res.StatusCode < 300 {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	p := new(api.Problem)
	if err != nil || json.Unmarshal(text, p) != nil || p.Code == "" {
		return errors.Join(fmt.Errorf("%s %s: %s: %.200s", res.Request.Method, res.Request.URL.Path, res.Status,
			bytes.TrimSpace(text)), err)
	}
	return p
}
