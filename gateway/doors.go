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

// doors are a listener that bounds its connections (API-02). Those on which no request
// is being answered, because one has ended or none was ever sent whole, make room for
// new ones when all are taken, the longest idle of whoever has most first. Where every
// one is in use, a few more are let in: they are asked how the service is, and told
// that it is full.
type doors struct {
	net.Listener
	most int // connections
	each int // of one remote address

	mu      sync.Mutex
	open    int                      // guarded by mu; without spares
	spares  int                      // guarded by mu
	origins map[netip.Prefix]*origin // guarded by mu; who has connections
	waiting list.List                // guarded by mu; of *visitor: spares without a request, the longest first
}

// spareDoors is how many more are let in than may be.
const spareDoors = 32

// An origin is a remote address: what one caller has for certain. A network of IPv6
// is one, as its holder may use any address of it.
type origin struct {
	open int       // without spares
	idle list.List // of *visitor: without a request, the longest first
}

// A visitor is one connection.
type visitor struct {
	net.Conn
	doors *doors
	from  netip.Prefix
	spare bool // it is over a bound

	gone  bool          // guarded by doors.mu
	place *list.Element // guarded by doors.mu; in the list of idle ones; nil: a request is being answered
}

func newDoors(ln net.Listener, most, each int) *doors {
	return &doors{Listener: ln, most: most, each: each, origins: map[netip.Prefix]*origin{}}
}

// writeBuffer is how much of an answer the kernel holds for a client that does not read it. By
// itself it gives each connection some MiB, of a memory that all of the host's share and that
// no room of ours counts (API-15).
const writeBuffer = 128 << 10

// Accept waits for a connection that may stay.
func (d *doors) Accept() (net.Conn, error) {
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
				_ = t.SetWriteBuffer(writeBuffer) // fails only where there is no connection
			}
			return v, nil
		}
		_ = c.Close() // nobody to tell
	}
}

// admit decides about a connection, and which other one has to go for it.
func (d *doors) admit(c net.Conn) (v, out *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v = &visitor{Conn: c, doors: d, from: originOf(c.RemoteAddr())}
	o := d.origins[v.from]
	full := d.open >= d.most
	switch {
	case o != nil && o.open >= d.each && !trusted(v.from):
		out = first(&o.idle)
		v.spare = out == nil
	case full:
		out = d.dispensable()
		v.spare = out == nil
	}
	if v.spare && d.spares >= spareDoors {
		if out = first(&d.waiting); out == nil {
			return nil, nil
		}
	}
	if out != nil {
		d.leave(out)
	}
	if v.spare {
		d.spares++
	} else {
		if o = d.origins[v.from]; o == nil {
			o = new(origin)
			d.origins[v.from] = o
		}
		o.open++
		d.open++
	}
	v.place = d.idlers(v).PushBack(v)
	return v, out
}

// dispensable is the longest idle connection of who has most of those with an idle one.
func (d *doors) dispensable() *visitor {
	var most *origin
	for _, o := range d.origins {
		if o.idle.Len() > 0 && (most == nil || o.open > most.open) {
			most = o
		}
	}
	if most == nil {
		return nil
	}
	return first(&most.idle)
}

func first(l *list.List) *visitor {
	if l.Len() == 0 {
		return nil
	}
	return l.Front().Value.(*visitor)
}

// idlers is the list that a visitor without a request is in; d.mu is held.
func (d *doors) idlers(v *visitor) *list.List {
	if v.spare {
		return &d.waiting
	}
	return &d.origins[v.from].idle
}

// leave forgets a visitor; d.mu is held.
func (d *doors) leave(v *visitor) {
	if v.gone {
		return
	}
	v.gone = true
	if v.place != nil {
		d.idlers(v).Remove(v.place)
		v.place = nil
	}
	if v.spare {
		d.spares--
		return
	}
	o := d.origins[v.from]
	o.open--
	d.open--
	if o.open == 0 {
		delete(d.origins, v.from)
	}
}

// busy notes that a request is being answered. One that has just lost its connection
// must not be carried out.
func (v *visitor) busy() error {
	v.doors.mu.Lock()
	defer v.doors.mu.Unlock()
	if v.gone {
		return net.ErrClosed
	}
	if v.place != nil {
		v.doors.idlers(v).Remove(v.place)
		v.place = nil
	}
	return nil
}

// idle notes that an answer was sent.
func (v *visitor) idle() {
	v.doors.mu.Lock()
	defer v.doors.mu.Unlock()
	if !v.gone && v.place == nil {
		v.place = v.doors.idlers(v).PushBack(v)
	}
}

func (v *visitor) Close() error {
	v.doors.mu.Lock()
	v.doors.leave(v)
	v.doors.mu.Unlock()
	return v.Conn.Close()
}

// abort closes a connection: its reader is told, and closes the rest.
func (v *visitor) abort() { _ = v.Conn.Close() }

// originOf tells who is at the other end; of a unix socket, nobody in particular.
func originOf(a net.Addr) netip.Prefix {
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

// trusted reports whether one address may stand for many callers: a proxy on this
// host, or its users.
func trusted(from netip.Prefix) bool { return !from.IsValid() || from.Addr().IsLoopback() }

type visitorKey struct{}

func visitorOf(r *http.Request) (*visitor, bool) {
	v, ok := r.Context().Value(visitorKey{}).(*visitor)
	return v, ok
}

// mayGo lets a request's connection be closed for a new one, as if none were answered.
func mayGo(r *http.Request) {
	if v, ok := visitorOf(r); ok {
		v.idle()
	}
}

// stay ends that. The error is net.ErrClosed where the connection has gone.
func stay(r *http.Request) error {
	if v, ok := visitorOf(r); ok {
		return v.busy()
	}
	return nil
}

// underneath is the connection that came through the doors, below TLS where there is any.
func underneath(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

func withVisitor(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, visitorKey{}, underneath(c))
}

// connState follows a server's connections.
func connState(c net.Conn, s http.ConnState) {
	if v, ok := underneath(c).(*visitor); ok && s == http.StateIdle {
		v.idle()
	}
}

// enterDoor begins a request. On a spare connection there is nothing but health. The
// error is net.ErrClosed where nobody is there any more.
func enterDoor(w http.ResponseWriter, r *http.Request) error {
	if err := stay(r); err != nil {
		return err
	}
	if v, ok := visitorOf(r); !ok || !v.spare {
		return nil
	}
	w.Header().Set("Connection", "close")
	if r.URL.Path == "/health" || strings.HasPrefix(r.URL.Path, "/health/") {
		return nil
	}
	return api.Fail(api.CodeConnsFull, "as many connections are in use as the service, or one address, may have: send it again later, use connections again, or have the operator raise --max-conns or --max-conns-address")
}
