// Package client calls brig's agent over its unix socket.
//
// Every method's error is an *api.Error: the agent's own, or one with the code agent-unreachable or
// agent-gone. Canceling the context of a call closes the connection, which ends the run; the error
// is then the context's.
package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	fast "github.com/segmentio/encoding/json"

	"github.com/brig-sandbox/brig/api"
)

const runsPath = "/v1/runs"

// A Client is safe for use by many goroutines; each call has its own connection.
type Client struct {
	socket string

	mu   sync.Mutex
	idle []*conn // guarded by mu; the most recently used last
}

// New makes a client of the agent at the socket. It does not connect.
func New(socket string) *Client { return &Client{socket: socket} }

// Close closes the idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.idle {
		k.Close()
	}
	c.idle = nil
}

// Run executes one run and waits for its result.
func (c *Client) Run(ctx context.Context, r api.Run) (res api.Result, err error) {
	err = c.call(ctx, http.MethodPost, runsPath, r, &res)
	return res, err
}

// RunRaw is Run, without decoding the tests.
func (c *Client) RunRaw(ctx context.Context, r api.Run) (res api.RawResult, err error) {
	err = c.call(ctx, http.MethodPost, runsPath, r, &res)
	return res, err
}

// Health asks for the agent's status report.
func (c *Client) Health(ctx context.Context) (h api.Health, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/health", nil, &h)
	return h, err
}

// Languages lists the languages whose sources the agent can run.
func (c *Client) Languages(ctx context.Context) (l []api.Language, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/languages", nil, &l)
	return l, err
}

// Profiles lists the seccomp profiles the agent can load.
func (c *Client) Profiles(ctx context.Context) (p []api.Profile, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/profiles", nil, &p)
	return p, err
}

// Images lists the stored images.
func (c *Client) Images(ctx context.Context) (i []api.Image, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/images", nil, &i)
	return i, err
}

// Import stores the archive under name. digest, if not empty, is the digest that the archive must
// have in the form given, still compressed. Only root may call it.
func (c *Client) Import(ctx context.Context, archive io.Reader, name, digest string) (img api.Image, err error) {
	q := url.Values{"name": {name}}
	if digest != "" {
		q.Set("digest", digest)
	}
	err = c.call(ctx, http.MethodPost, "/v1/images?"+q.Encode(), archive, &img)
	return img, err
}

// ImportLayer stores the layer in an uncompressed tar whose digest must be digest. Only root may call
// it.
func (c *Client) ImportLayer(ctx context.Context, layer io.Reader, digest string) (l api.Layer, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/images/layers?"+url.Values{"diff_id": {digest}}.Encode(), layer, &l)
	return l, err
}

// AbandonLayer removes a layer that was imported for an image that will not be added, unless another
// image has it. Only root may call it.
func (c *Client) AbandonLayer(ctx context.Context, digest string) error {
	return c.call(ctx, http.MethodDelete, "/v1/images/layers/"+url.PathEscape(digest), nil, &struct{}{})
}

// Layers lists the stored layers.
func (c *Client) Layers(ctx context.Context) (l []api.Layer, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/images/layers", nil, &l)
	return l, err
}

// AddImage stores an image of layers that are stored, under name. Only root may call it.
func (c *Client) AddImage(ctx context.Context, spec api.ImageSpec, name string) (img api.Image, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/images?"+url.Values{"name": {name}}.Encode(), spec, &img)
	return img, err
}

// RemoveImage removes the name, and the tree too if it has no other name. Only root may call it.
func (c *Client) RemoveImage(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/v1/images/"+url.PathEscape(name), nil, &struct{}{})
}

// Verify compares a complete stored tree with the imported one. Only root may call it.
func (c *Client) Verify(ctx context.Context, name string) (v api.Verified, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/images/"+url.PathEscape(name)+"/verify", nil, &v)
	return v, err
}

// Clean removes stored trees that have no name. Only root may call it.
func (c *Client) Clean(ctx context.Context) (done api.Cleaned, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/clean", nil, &done)
	return done, err
}

// call sends one request and reads its answer. in is sent as JSON unless it is an io.Reader or nil;
// the answer is decoded into out.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	return c.callUntil(ctx, hangingUp{}, method, path, in, out)
}

// hangingUp is what a call does when its context ends.
type hangingUp struct {
	do       func(*conn)         // tells the agent; nil: the connection is closed
	answered func(answer []byte) // gets an answer of success that came nevertheless; nil: it is of no use
}

// callUntil is call that ends as hang says when ctx does.
func (c *Client) callUntil(ctx context.Context, hang hangingUp, method, path string, in, out any) error {
	var body *api.Encoding
	var stream io.Reader
	switch v := in.(type) {
	case nil:
	case io.Reader:
		stream = v
	default:
		var err error
		if body, err = api.Encode(v); err != nil {
			return api.Refuse(api.CodeBadRequest, "encode request: %w", err)
		}
	}

	for fresh := false; ; fresh = true {
		k, err := c.get(ctx, fresh)
		if err != nil {
			return err
		}

		reused := k.reused // other calls may use k once it is put back
		err = c.exchange(ctx, k, hang, method, path, body, stream, out)

		// The agent closes idle connections. If it did so before it read the request, nothing has
		// happened yet: retry on a new connection.
		if reused && stream == nil &&
			(errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) && ctx.Err() == nil {
			continue
		}
		return err
	}
}

func (c *Client) exchange(ctx context.Context, k *conn, hang hangingUp, method, path string, body *api.Encoding,
	stream io.Reader, out any) error {
	stop := context.AfterFunc(ctx, func() {
		if hang.do != nil {
			hang.do(k)
		} else {
			k.Close()
		}
	})
	var answer []byte
	var quotaErr error
	res, sent, err := k.request(method, path, waitHeader(ctx), body, stream)
	if err == nil {
		var decoded func()
		quota := quotaOf(ctx)
		if decoded, quotaErr = quota.answer(res.ContentLength); quotaErr == nil {
			defer decoded()
			if res.ContentLength < 0 {
				res.Body = &counted{res.Body, quota, &quotaErr}
			}
			answer, err = readAnswer(res)
		}
	}

	if sent != nil {
		if err != nil || res.StatusCode/100 != 2 {
			k.Close() // do not send the rest of the archive
		}
		if serr := <-sent; err != nil && serr != nil && !errors.Is(serr, net.ErrClosed) {
			err = serr
		}
	}

	if !stop() { // the context ended, so the connection cannot be used again
		k.Close()
		if hang.answered != nil && err == nil && quotaErr == nil && res.StatusCode/100 == 2 {
			hang.answered(answer)
		}
		return context.Cause(ctx)
	}
	if quotaErr != nil {
		k.Close()
		return quotaErr
	}

	var sourceErr *sourceError
	if errors.As(err, &sourceErr) {
		k.Close()
		return api.Refuse(api.CodeBadRequest, "%w", sourceErr)
	}
	if err != nil {
		k.Close()
		return agentGone(err, method == http.MethodGet || path == runsPath)
	}
	if res.Close || sent != nil { // it is unknown how much of an archive the agent has read
		k.Close()
	} else {
		c.put(k)
	}
	if res.StatusCode/100 != 2 {
		return refusal(method, res, answer)
	}
	if out == nil {
		return nil
	}
	if err := decode(answer, out); err != nil {
		return api.Refuse(api.CodeAgentGone, "decode the agent's answer: %w", err)
	}
	return nil
}

// decode decodes the agent's JSON. In brig serve this was the most expensive step of a run after
// the commit, so it uses a decoder that takes a third of encoding/json's time;
// TestDecodeAsEncodingJSON compares the two.
func decode(answer []byte, out any) error { return fast.Unmarshal(answer, out) }

// readAnswer reads the complete body, into a buffer of the right size if the length is known.
func readAnswer(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	if n := res.ContentLength; n >= 0 && n < 1<<30 {
		b := make([]byte, n)
		_, err := io.ReadFull(res.Body, b)
		return b, err
	}
	return io.ReadAll(res.Body)
}

// request sends one request in as few writes as possible and reads the answer's header. An agent
// may refuse a request and close the connection before it has read everything: then the answer
// counts and the failed write does not. A goroutine sends a streamed body and reports its error on
// sent; it ends at the latest when k is closed.
func (k *conn) request(method, path, wait string, body *api.Encoding,
	stream io.Reader) (res *http.Response, sent chan error, err error) {
	head := append(make([]byte, 0, 160+inlineLen(body)), method+" "+path+" HTTP/1.1\r\nHost: brig\r\n"+wait...)
	var werr error
	if stream != nil {
		head = append(head, "Transfer-Encoding: chunked\r\n\r\n"...)
		sent = make(chan error, 1)
		go func() { sent <- sendChunks(k, head, stream) }()
	} else {
		werr = k.send(head, body)
	}
	if werr != nil && !errors.Is(werr, syscall.EPIPE) && !errors.Is(werr, syscall.ECONNRESET) {
		return nil, nil, werr
	}

	res, err = http.ReadResponse(k.in, &http.Request{Method: method})
	if err != nil && werr != nil {
		err = werr
	}
	return res, sent, err
}

// inlineLen returns the length of a body that is sent in one write with its head, else 0.
func inlineLen(body *api.Encoding) int {
	if body == nil {
		return 0
	}
	return len(body.Whole())
}

func (k *conn) send(head []byte, body *api.Encoding) error {
	if body == nil {
		_, err := k.Write(append(head, "\r\n"...))
		return err
	}

	head = append(head, "Content-Type: application/json\r\nContent-Length: "...)
	head = appendInt(head, int(body.Len()))
	head = append(head, "\r\n\r\n"...)
	if whole := body.Whole(); whole != nil {
		_, err := k.Write(append(head, whole...))
		return err
	}

	w := bufio.NewWriterSize(k, 64<<10)
	_, _ = w.Write(head) // Flush returns the error
	_, _ = body.WriteTo(w)
	return w.Flush()
}

// refusal decodes the agent's Error.
func refusal(method string, res *http.Response, answer []byte) error {
	if method == http.MethodHead && res.StatusCode == http.StatusNotFound { // it has no body
		return api.Refuse(api.CodeNotFound, "not found")
	}
	var body struct {
		Error *api.Error `json:"error"`
	}
	if err := json.Unmarshal(answer, &body); err != nil || body.Error == nil {
		return api.Refuse(api.CodeAgentGone, "the agent answered with status %d and no error: is it a brig agent?", res.StatusCode)
	}
	if seconds, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); err == nil {
		body.Error.RetryAfter = time.Duration(seconds) * time.Second
	}
	return body.Error
}
