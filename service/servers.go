package service

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/service/connlimit"
)

// newServer makes the server of a listener.
func (g *Gateway) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       120 * time.Second, // for the body
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       connlimit.ConnContext,
		ConnState:         connlimit.ConnState,
		ErrorLog:          slog.NewLogLogger(g.core.Log.Handler(), slog.LevelDebug),
	}
}

// listener makes a listener one of the service: within the limits of all its listeners, and with its certificate.
func (g *Gateway) listener(limits *connlimit.Limits, ln net.Listener) net.Listener {
	ln = limits.Listener(ln)
	// must be outermost: only then do the server's timeouts apply to the handshake, and does it answer clients without
	// TLS
	if g.core.Config.TLS != nil {
		ln = tls.NewListener(ln, g.core.Config.TLS)
	}
	return ln
}

// servers are the servers of all listeners. They begin, end and fail together.
type servers struct {
	all     []*http.Server
	ended   chan error // one for each server
	serving sync.WaitGroup
}

// serve handles the requests of one listener until the server is closed.
func (s *servers) serve(web *http.Server, ln net.Listener) {
	s.all = append(s.all, web)
	s.serving.Go(func() { s.ended <- web.Serve(ln) })
}

// shutdown ends all servers when they have answered their requests, at the latest when ctx is done.
func (s *servers) shutdown(ctx context.Context) error {
	errs := make([]error, len(s.all))
	var each sync.WaitGroup
	for i, web := range s.all {
		each.Go(func() { errs[i] = web.Shutdown(ctx) })
	}
	each.Wait()
	return errors.Join(errs...)
}

// close ends all servers at once.
func (s *servers) close() error {
	var errs []error
	for _, web := range s.all {
		errs = append(errs, web.Close())
	}
	return errors.Join(errs...)
}

// wait waits until all servers have ended.
func (s *servers) wait() { s.serving.Wait() }
