package gateway

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
)

// limitListener is a listener that limits the number of connections (API-02). A connection is idle while no
// request on it is being answered, because the last one has ended or because none was ever sent
// completely. When the limit is reached, the longest idle connection of the address with the most
// connections is closed in favor of a new one. If no connection is idle, a few connections over the
// limit are accepted: they can query the health of the service, and get an error for anything else.
type limitListener struct {
	net.Listener
	max        int // connections
	maxPerAddr int // of one remote address

	mu           sync.Mutex
	open         int                          // guarded by mu; without those over the limit
	overflow     int                          // guarded by mu
	addrs        map[netip.Prefix]*clientAddr // guarded by mu; addresses that have connections
	idleOverflow list.List                    // guarded by mu; of *limitedConn: connections over the limit that are idle, the longest idle first
}

// overflowConns is the number of connections that are accepted over the limit.
const overflowConns = 32

// clientAddr is a remote address, the smallest unit that certainly belongs to one caller. An IPv6
// network counts as one address, as its owner may use any address in it.
type clientAddr struct {
	open int       // without those over the limit
	idle list.List // of *limitedConn: idle connections, the longest idle first
}

// A limitedConn is one connection.
type limitedConn struct {
	net.Conn
	listener *limitListener
	from     netip.Prefix
	overflow bool // it is over the limit of the service or of the address

	closed bool          // guarded by doors.mu
	elem   *list.Element // guarded by doors.mu; position in the list of idle connections; nil: a request is being answered
}

func newLimitListener(ln net.Listener, most, each int) *limitListener {
	return &limitListener{Listener: ln, max: most, maxPerAddr: each, addrs: map[netip.Prefix]*clientAddr{}}
}

// writeBuffer is the size of the kernel's send buffer, for responses that a client does not read.
// By default each connection gets some MiB of a memory that the whole host shares and that none of
// the gateway's memory quotas counts (API-15).
const writeBuffer = 128 << 10

// Accept waits for a connection within the limits.
func (d *limitListener) Accept() (net.Conn, error) {
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
func (d *limitListener) admit(c net.Conn) (v, out *limitedConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v = &limitedConn{Conn: c, listener: d, from: clientAddrOf(c.RemoteAddr())}
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
	if v.overflow && d.overflow >= overflowConns {
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
func (d *limitListener) evictable() *limitedConn {
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

func first(l *list.List) *limitedConn {
	if l.Len() == 0 {
		return nil
	}
	return l.Front().Value.(*limitedConn)
}

// idleList returns the list for an idle connection; d.mu is held.
func (d *limitListener) idleList(v *limitedConn) *list.List {
	if v.overflow {
		return &d.idleOverflow
	}
	return &d.addrs[v.from].idle
}

// forget removes a connection from all lists and counts; d.mu is held.
func (d *limitListener) forget(v *limitedConn) {
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
func (v *limitedConn) markBusy() error {
	v.listener.mu.Lock()
	defer v.listener.mu.Unlock()
	if v.closed {
		return net.ErrClosed
	}
	if v.elem != nil {
		v.listener.idleList(v).Remove(v.elem)
		v.elem = nil
	}
	return nil
}

// markIdle marks the connection as idle: the response was sent.
func (v *limitedConn) markIdle() {
	v.listener.mu.Lock()
	defer v.listener.mu.Unlock()
	if !v.closed && v.elem == nil {
		v.elem = v.listener.idleList(v).PushBack(v)
	}
}

func (v *limitedConn) Close() error {
	v.listener.mu.Lock()
	v.listener.forget(v)
	v.listener.mu.Unlock()
	return v.Conn.Close()
}

// abort closes the connection. The goroutine that reads from it gets an error and cleans up.
func (v *limitedConn) abort() { _ = v.Conn.Close() }

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

type limitedConnKey struct{}

func limitedConnOf(r *http.Request) (*limitedConn, bool) {
	v, ok := r.Context().Value(limitedConnKey{}).(*limitedConn)
	return v, ok
}

// markIdle marks a request's connection as idle, so that it may be closed for a new one although a
// request is being answered.
func markIdle(r *http.Request) {
	if v, ok := limitedConnOf(r); ok {
		v.markIdle()
	}
}

// markBusy marks the connection as busy again. It returns net.ErrClosed if the connection was closed
// meanwhile.
func markBusy(r *http.Request) error {
	if v, ok := limitedConnOf(r); ok {
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

func withLimitedConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, limitedConnKey{}, acceptedConn(c))
}

// connState marks a connection as idle when the server reports that.
func connState(c net.Conn, s http.ConnState) {
	if v, ok := acceptedConn(c).(*limitedConn); ok && s == http.StateIdle {
		v.markIdle()
	}
}

// admitConn begins a request. A connection over the limit may only query the health of the service.
// It returns net.ErrClosed if the connection was closed meanwhile.
func admitConn(w http.ResponseWriter, r *http.Request) error {
	if err := markBusy(r); err != nil {
		return err
	}
	if v, ok := limitedConnOf(r); !ok || !v.overflow {
		return nil
	}
	w.Header().Set("Connection", "close")
	if r.URL.Path == "/health" || strings.HasPrefix(r.URL.Path, "/health/") {
		return nil
	}
	return api.Fail(api.CodeTooManyConns, "the service, or one address, has as many connections as it may have: send the request again later, reuse connections, or have the operator raise --max-conns or --max-conns-address")
}
