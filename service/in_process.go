package service

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/brig-sandbox/brig/service/core"
)

// An inProcess is an http.RoundTripper that sends requests to a handler of this process, as the client of another
// request does: with its key, from its address, and only as long as it waits.
type inProcess struct {
	handler http.Handler
	caller  *http.Request
	reading chan struct{} // held while a large response is read and decoded
	log     *slog.Logger
}

// RoundTrip implements http.RoundTripper. The response's body is written while it is read, so that the handler keeps
// its quota until then.
func (p *inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	// No value of the caller's context may be found here: its connection is not that of this request.
	ctx, cancel := context.WithCancel(context.Background())
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

	body := &pipeBody{PipeReader: from, ctx: ctx, done: done}
	if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil && n > core.LargeResponseMin {
		body.reading = p.reading
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: req,
	}, nil
}

// recoverFrom ends the response of a handler that panicked, as net/http does.
func (p *inProcess) recoverFrom(w *pipeResponse) {
	why := recover()
	if why == nil {
		return
	}
	if why != http.ErrAbortHandler { //nolint:errorlint // a panic's value
		p.log.Error("a request of /mcp panicked", "panic", why)
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

func (p *pipeResponse) Write(b []byte) (int, error) {
	p.begin(http.StatusOK)
	return p.body.Write(b)
}

// A pipeBody is the body of a response of this process.
type pipeBody struct {
	*io.PipeReader
	ctx     context.Context
	done    func()
	reading chan struct{} // nil: it is small
	holds   bool
	once    sync.Once
}

func (p *pipeBody) Read(b []byte) (int, error) {
	if p.reading != nil && !p.holds {
		select {
		case p.reading <- struct{}{}:
			p.holds = true
		case <-p.ctx.Done():
			return 0, p.ctx.Err()
		}
	}
	return p.PipeReader.Read(b)
}

// Close ends the request.
func (p *pipeBody) Close() error {
	p.once.Do(func() {
		p.done()
		if p.holds {
			<-p.reading
		}
	})
	return p.PipeReader.Close()
}
