// Package connlimit limits the connections of an HTTP server, in all and of one remote address. It
// closes idle connections in favor of new ones.
package connlimit

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/halfclose"
)

// Limits limit the number of connections of all listeners together (API-02). A connection is idle while no
// request on it is being answered, because the last one has ended or because none was ever sent
// completely. When the limit is reached, the longest idle connection of the address with the most
// connections is closed in favor of a new one. If no connection is idle, a few connections over the
// limit are accepted: they can query the health of the service, and get an error for anything else.
type Limits struct {
	max        int // connections
	maxPerAddr int // of one remote address

	mu           sync.Mutex
	open         int                          // guarded by mu; without those over the limit
	overflow     int                          // guarded by mu
	addrs        map[netip.Prefix]*clientAddr // guarded by mu; addresses that have connections
	idleOverflow list.List                    // guarded by mu; of *conn: connections over the limit that are idle, the longest idle first
}

// Overflow is the number of connections that are accepted over the limit.
const Overflow = 32

// clientAddr is a remote address, the smallest unit that certainly belongs to one caller. An IPv6
// network counts as one address, as its owner may use any address in it.
type clientAddr struct {
	open int       // without those over the limit
	idle list.List // of *conn: idle connections, the longest idle first
}

// A conn is one connection.
type conn struct {
	*halfclose.Conn
	of       *Limits
	from     netip.Prefix
	overflow bool // it is over the limit of the service or of the address

	closed bool          // guarded by Limits.mu
	elem   *list.Element // guarded by Limits.mu; position in the list of idle connections; nil: a request is being answered
}

// New makes limits: maximum connections in total, and each of one remote address.
func New(maximum, each int) *Limits {
	return &Limits{max: maximum, maxPerAddr: each, addrs: map[netip.Prefix]*clientAddr{}}
}

// A listener accepts connections within limits.
type listener struct {
	net.Listener
	*Limits
}

// Listener limits the connections that ln accepts. The server that uses it must set ConnContext and ConnState,
// and call Admit for each request.
func (d *Limits) Listener(ln net.Listener) net.Listener { return listener{ln, d} }

// writeBuffer is the size of the kernel's send buffer, for responses that a client does not read.
// By default each connection gets some MiB of a memory that the whole host shares and that none of
// the gateway's memory quotas counts (API-15).
const writeBuffer = 128 << 10

// Accept waits for a connection within the limits.
func (d listener) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}

		v, out := d.admit(c)
		if out != nil {
			out.abort()
		}
		if v != nil {
			if t, is := c.(*net.TCPConn); is {
				_ = t.SetWriteBuffer(writeBuffer) // fails only if the connection is closed
			}
			return v, nil
		}

		_ = c.Close() // the connection is refused, so an error does not matter
	}
}

// admit decides whether a connection is accepted, and which other connection is closed for it.
func (d *Limits) admit(c net.Conn) (v, out *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()

	v = &conn{Conn: halfclose.New(c), of: d, from: clientAddrOf(c.RemoteAddr())}
	o := d.addrs[v.from]
	full := d.open >= d.max
	switch {
	case o != nil && o.open >= d.maxPerAddr && !isShared(v.from):
		out = first(&o.idle)
		v.overflow = out == nil
	case full:
		out = d.evictable()
		v.overflow = out == nil
	}

	if v.overflow && d.overflow >= Overflow {
		if out = first(&d.idleOverflow); out == nil {
			return nil, nil
		}
	}
	if out != nil {
		d.forget(out)
	}

	if v.overflow {
		d.overflow++
	} else {
		if o = d.addrs[v.from]; o == nil {
			o = new(clientAddr)
			d.addrs[v.from] = o
		}
		o.open++
		d.open++
	}

	v.elem = d.idleList(v).PushBack(v)
	return v, out
}

// evictable returns the longest idle connection of the address with the most connections, among
// the addresses that have an idle one.
func (d *Limits) evictable() *conn {
	var largest *clientAddr
	for _, o := range d.addrs {
		if o.idle.Len() > 0 && (largest == nil || o.open > largest.open) {
			largest = o
		}
	}
	if largest == nil {
		return nil
	}
	return first(&largest.idle)
}

func first(l *list.List) *conn {
	if l.Len() == 0 {
		return nil
	}
	return l.Front().Value.(*conn)
}

// idleList returns the list for an idle connection; d.mu is held.
func (d *Limits) idleList(v *conn) *list.List {
	if v.overflow {
		return &d.idleOverflow
	}
	return &d.addrs[v.from].idle
}

// forget removes a connection from all lists and counts; d.mu is held.
func (d *Limits) forget(v *conn) {
	if v.closed {
		return
	}

	v.closed = true
	if v.elem != nil {
		d.idleList(v).Remove(v.elem)
		v.elem = nil
	}
	if v.overflow {
		d.overflow--
		return
	}

	o := d.addrs[v.from]
	o.open--
	d.open--
	if o.open == 0 {
		delete(d.addrs, v.from)
	}
}

// markBusy marks the connection as busy: a request is being answered. A request whose connection was
// just closed must not be executed.
func (v *conn) markBusy() error {
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	if v.closed {
		return net.ErrClosed
	}
	if v.elem != nil {
		v.of.idleList(v).Remove(v.elem)
		v.elem = nil
	}
	return nil
}

// markIdle marks the connection as idle: the response was sent.
func (v *conn) markIdle() {
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	if !v.closed && v.elem == nil {
		v.elem = v.of.idleList(v).PushBack(v)
	}
}

func (v *conn) Close() error {
	v.of.mu.Lock()
	v.of.forget(v)
	v.of.mu.Unlock()
	return v.Conn.Close()
}

// abort closes the connection. The goroutine that reads from it gets an error and cleans up.
func (v *conn) abort() { _ = v.Conn.Close() }

// clientAddrOf returns the address of the peer; the zero value for a unix socket, which has none.
func clientAddrOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := at.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() && !ip.IsLoopback() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // no address is shorter
	return p
}

// isShared reports whether many callers may share this address: a proxy on this host, or the users
// of this host.
func isShared(from netip.Prefix) bool { return !from.IsValid() || from.Addr().IsLoopback() }

type connKey struct{}

func connOf(r *http.Request) (*conn, bool) {
	v, ok := r.Context().Value(connKey{}).(*conn)
	return v, ok
}

// MarkIdle marks a request's connection as idle, so that it may be closed for a new one although a
// request is being answered.
func MarkIdle(r *http.Request) {
	if v, ok := connOf(r); ok {
		v.markIdle()
	}
}

// MarkBusy marks the connection as busy again. It returns net.ErrClosed if the connection was closed
// meanwhile.
func MarkBusy(r *http.Request) error {
	if v, ok := connOf(r); ok {
		return v.markBusy()
	}
	return nil
}

// acceptedConn returns the connection that the listener accepted, below TLS if there is any.
func acceptedConn(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// ConnContext adds the connection to the contexts of its requests; see http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, acceptedConn(c))
}

// LetWritesTell says that the response to a request writes something at least at each heartbeat; see
// halfclose.Conn.LetWritesTell.
func LetWritesTell(r *http.Request) {
	if v, ok := connOf(r); ok {
		v.LetWritesTell()
	}
}

// ConnState marks a connection as idle when the server reports that; see http.Server.
func ConnState(c net.Conn, s http.ConnState) {
	if v, ok := acceptedConn(c).(*conn); ok && s == http.StateIdle {
		v.Answered()
		v.markIdle()
	}
}

// Admit begins a request. A connection over the limit may only query the health of the service.
// It returns net.ErrClosed if the connection was closed meanwhile.
func Admit(w http.ResponseWriter, r *http.Request) error {
	if err := MarkBusy(r); err != nil {
		return err
	}
	if v, ok := connOf(r); !ok || !v.overflow {
		return nil
	}
	w.Header().Set("Connection", "close")
	if r.URL.Path == "/health" || strings.HasPrefix(r.URL.Path, "/health/") {
		return nil
	}
	return api.Fail(api.CodeTooManyConns,
		"the service, or one address, has as many connections as it may have: send the request again later, reuse "+
			"connections, or have the operator raise --max-conns or --max-conns-address")
}
