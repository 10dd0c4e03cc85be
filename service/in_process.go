package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// An inProcess is an http.RoundTripper that sends requests to a handler of this process, as the client of another
// request does: with its key, from its address, and only as long as it waits.
type inProcess struct {
	core    *core.Core
	handler http.Handler
	caller  *http.Request
	dialect string       // by which the other request came
	as      *core.Caller // who was authenticated there already; nil: by the key of the other request
}

// RoundTrip implements http.RoundTripper. The response's body is written while it is read, so that the handler keeps
// its quota until then.
func (p *inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	// No value of the caller's context may be found here: its connection is not that of this request.
	base := core.WithDialect(context.Background(), p.dialect)
	if p.as != nil {
		base = core.WithAdmitted(base, *p.as)
	}
	ctx, cancel := context.WithCancel(base)
	stops := []func() bool{context.AfterFunc(req.Context(), cancel), context.AfterFunc(p.caller.Context(), cancel)}
	done := func() {
		cancel()
		for _, stop := range stops {
			stop()
		}
	}

	in := req.Clone(ctx)
	in.RequestURI, in.RemoteAddr, in.Host = req.URL.RequestURI(), p.caller.RemoteAddr, req.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if key := p.caller.Header.Get("Authorization"); key != "" {
		in.Header.Set("Authorization", key)
	}

	from, to := io.Pipe()
	w := &pipeResponse{header: http.Header{}, body: to, begun: make(chan struct{})}
	go func() {
		defer p.recoverFrom(w)
		p.handler.ServeHTTP(w, in)
		w.WriteHeader(http.StatusOK)
		to.Close()
	}()

	<-w.begun // handlers answer when ctx ends, or end
	if w.status == 0 {
		done()
		return nil, io.ErrUnexpectedEOF
	}

	body := &pipeBody{PipeReader: from, done: done, admit: func() (func(), error) { return func() {}, nil }}
	length, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64)
	if err != nil {
		length = -1
	}
	if length > core.LargeResponseMin {
		body.admit = func() (func(), error) { return p.admit(ctx, req, length) }
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: length, Request: req,
	}, nil
}

// recoverFrom ends the response of a handler that panicked, as net/http does.
func (p *inProcess) recoverFrom(w *pipeResponse) {
	why := recover()
	if why == nil {
		return
	}
	if why != http.ErrAbortHandler { //nolint:errorlint // a panic's value
		p.core.Log.Error("a request of this process panicked", "panic", why)
	}
	w.body.CloseWithError(io.ErrUnexpectedEOF)
	w.begin(0)
}

// A pipeResponse is the http.ResponseWriter of a request of this process.
type pipeResponse struct {
	header http.Header // the handler's
	sent   http.Header // the client's
	body   *io.PipeWriter
	once   sync.Once
	begun  chan struct{} // closed by begin
	status int
}

// Header implements http.ResponseWriter.
func (p *pipeResponse) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *pipeResponse) WriteHeader(status int) { p.begin(status) }

func (p *pipeResponse) begin(status int) {
	p.once.Do(func() {
		p.status, p.sent = status, p.header.Clone()
		close(p.begun)
	})
}

// Flush implements http.Flusher: what was written is read at once.
func (p *pipeResponse) Flush() { p.begin(http.StatusOK) }

func (p *pipeResponse) Write(b []byte) (int, error) {
	p.begin(http.StatusOK)
	return p.body.Write(b)
}

// admit waits until a large response can be read and decoded. It is complete, and has its quota, so that its turn comes:
// responses are read one at a time, in their order.
func (p *inProcess) admit(ctx context.Context, req *http.Request, n int64) (release func(), err error) {
	release, err = p.core.ReadLarge(ctx, n)
	if full := new(api.Error); errors.As(err, &full) {
		full.RetrySafe = req.Method == http.MethodGet || req.URL.Path == "/v1/runs" // an exec has had its effects
	}
	return release, err
}

// A pipeBody is the body of a response of this process. It is used by one goroutine.
type pipeBody struct {
	*io.PipeReader
	done    func()
	admit   func() (release func(), err error)
	release func() // nil: nothing was read yet
}

func (p *pipeBody) Read(b []byte) (int, error) {
	if p.release == nil {
		release, err := p.admit()
		if err != nil {
			return 0, err
		}
		p.release = release
	}
	return p.PipeReader.Read(b)
}

// Close ends the request.
func (p *pipeBody) Close() error {
	err := p.PipeReader.Close()
	p.done()
	if p.release != nil {
		p.release()
		p.release = func() {}
	}
	return err
}
