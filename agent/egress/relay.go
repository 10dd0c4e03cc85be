package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Relay serves the network of one run. Close ends it.
type Relay struct {
	policy Policy
	own    []netip.Addr // of this host
	ownErr error        // why they are unknown; nothing is relayed then
	lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	dial   func(ctx context.Context, a netip.AddrPort) (*net.TCPConn, error)

	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu        sync.Mutex
	asked     map[string]struct{}   // guarded by mu; names, also those that do not exist
	addresses map[string]netip.Addr // guarded by mu; by name
	names     map[netip.Addr]string // guarded by mu
	open      map[net.Conn]struct{} // guarded by mu; all that Close must close
	active    int                   // guarded by mu; connections under way
	closed    bool                  // guarded by mu
	usage     usage                 // guarded by mu
}

// Start serves a run's sockets, which it takes over: for names by UDP and by TCP, then listening ones.
func Start(policy Policy, sockets []*os.File) (*Relay, error) {
	r := newRelay(policy)
	return r, r.start(sockets)
}

func newRelay(policy Policy) *Relay {
	policy.Limits = policy.Limits.Over(DefaultLimits())
	if policy.Lookup == nil {
		policy.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".") // a name, not an address, and not in the host's search domains
		}
	}

	own, err := ownAddresses()
	return &Relay{
		policy: policy, own: own, ownErr: err, dial: dial,
		lookup:    policy.Lookup,
		asked:     map[string]struct{}{},
		addresses: map[string]netip.Addr{}, names: map[netip.Addr]string{}, open: map[net.Conn]struct{}{},
	}
}

// start starts the goroutines. If it fails it leaves nothing open.
func (r *Relay) start(sockets []*os.File) (err error) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	defer func() {
		for _, s := range sockets {
			err = errors.Join(err, s.Close()) // net has its own copies
		}
		if err != nil {
			r.Close()
		}
	}()

	if r.ownErr != nil {
		return fmt.Errorf("the addresses of this host, which runs must not reach, are unknown: %w: let the process "+
			"use netlink (RestrictAddressFamilies=AF_NETLINK of a systemd unit)", r.ownErr)
	}
	if len(sockets) < 2 {
		return errors.New("BUG: the network of a run has less than two sockets")
	}

	packets, err := net.FilePacketConn(sockets[0])
	if err != nil {
		return err
	}

	r.tasks.Go(func() { r.serveDatagrams(ctx, packets) })
	context.AfterFunc(ctx, func() { packets.Close() })

	for i, s := range sockets[1:] {
		l, err := net.FileListener(s)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { l.Close() })
		handle := r.relay
		if i == 0 {
			handle = r.serveNameConn
		}
		r.tasks.Go(func() { r.accept(ctx, l, handle) })
	}

	return nil
}

// accept serves the connections of one socket.
func (r *Relay) accept(ctx context.Context, l net.Listener, handle func(context.Context, net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // no descriptor is free, for example
			continue
		}
		if !r.admit(conn) {
			reset(conn)
			continue
		}

		r.tasks.Go(func() {
			defer r.finish(conn)
			handle(ctx, conn)
		})
	}
}

// admit counts a new connection of the run; false: it has too many.
func (r *Relay) admit(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	port := conn.LocalAddr().(*net.TCPAddr).AddrPort().Port()
	switch {
	case r.closed:
		return false
	case r.usage.connections >= r.policy.Limits.Connections:
		r.usage.refuse("*", port, fmt.Sprintf("more than %d connections", r.policy.Limits.Connections))
		return false
	case r.active >= r.policy.Limits.Simultaneous:
		r.usage.refuse("*", port, fmt.Sprintf("more than %d connections at the same time", r.policy.Limits.Simultaneous))
		return false
	}

	r.active++
	r.usage.connections++
	r.open[conn] = struct{}{}
	return true
}

// finish closes a connection that admit counted.
func (r *Relay) finish(conn net.Conn) {
	r.mu.Lock()
	r.active--
	delete(r.open, conn)
	r.mu.Unlock()
	conn.Close()
}

// track has Close close a connection to a host; false: Close was called already.
func (r *Relay) track(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.open[conn] = struct{}{}
	}
	return !r.closed
}

func (r *Relay) untrack(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
}

// refuse records something that the run was not let.
func (r *Relay) refuse(name string, port uint16, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.refuse(name, port, why)
}

// Close ends all connections, waits for the goroutines and returns what the run used.
func (r *Relay) Close() api.NetworkUsage {
	r.stop()
	r.mu.Lock()
	r.closed = true
	for conn := range r.open {
		reset(conn)
	}
	r.mu.Unlock()
	r.tasks.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage.report()
}

// reset closes a connection at once: the other side sees an error, and not an ordinary end.
func reset(conn net.Conn) {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	conn.Close()
}

// ownAddresses are the addresses of this host's interfaces.
func ownAddresses() (own []netip.Addr, err error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own, nil
}

// isOwn reports whether an address is one of this host: of an interface when the relay started, or
// one to which the kernel connects from the same address. The latter are addresses that were added
// since, and local routes without an interface (ip route add local).
func (r *Relay) isOwn(a netip.Addr) bool {
	if slices.Contains(r.own, a) {
		return true
	}
	const anyPort = 9 // connect of a datagram socket sends nothing
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, anyPort)))
	if err != nil {
		return false // no route: a connection fails, too
	}
	defer c.Close()
	from, ok := c.LocalAddr().(*net.UDPAddr)
	return ok && from.AddrPort().Addr().Unmap() == a
}

// dial connects to an address.
func dial(ctx context.Context, a netip.AddrPort) (*net.TCPConn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}
