package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// tlsPort is the port on which a connection to a name must be TLS for that very name.
const tlsPort = 443

// A destination is where a connection of a run goes.
type destination struct {
	name string // that the run asked for, or the address
	port uint16
	to   []netip.AddrPort // where to connect, in this order
}

// relay connects a connection of the run to the host that it wanted, and copies both ways.
func (r *Relay) relay(ctx context.Context, conn net.Conn) {
	inside := conn.(*net.TCPConn)
	wanted := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	dialing, cancel := context.WithTimeout(ctx, r.policy.Limits.DialTimeout)
	defer cancel()

	d, named, why := r.destinationOf(dialing, netip.AddrPortFrom(wanted.Addr().Unmap(), wanted.Port()))
	if why != "" {
		r.refuse(d.name, d.port, why)
		reset(conn)
		return
	}

	// An allowed name may lead to an address that many hosts share. The name in the first message of TLS
	// is checked before anything is sent there (NET-04).
	var first []byte
	if named && d.port == tlsPort {
		if first, why = r.checkServerName(inside, d.name); why != "" {
			r.refuse(d.name, d.port, why)
			reset(conn)
			return
		}
	}

	outside, err := r.connect(dialing, d.to)
	if err != nil {
		r.refuse(d.name, d.port, "the connection failed: "+shortError(err))
		reset(conn)
		return
	}

	// Close may have been called during the connect. It knows nothing of this connection, so it is closed
	// here.
	if !r.track(outside) {
		outside.Close()
		return
	}
	defer r.untrack(outside)
	defer outside.Close()

	r.connected(d)

	// What was read for the check counts like all that the run sends, and the host must get it first.
	if len(first) > 0 {
		if n := int64(len(first)); r.spend(d, true, n) < n {
			reset(conn)
			return
		}
		if _, err := outside.Write(first); err != nil {
			reset(conn)
			return
		}
	}

	r.copyBoth(d, inside, outside)
}

// destinationOf decides where a connection goes. why is empty if it may. The addresses are those that
// were checked: they are not looked up again, so that a second answer cannot lead elsewhere
// (NET-02).
func (r *Relay) destinationOf(ctx context.Context, wanted netip.AddrPort) (d destination, named bool, why string) {
	d = destination{name: wanted.Addr().String(), port: wanted.Port()}
	if !standIns.Contains(wanted.Addr()) {
		if !r.policy.allowsAddress(wanted) {
			return d, false, "the address is not allowed"
		}
		d.to = []netip.AddrPort{wanted}
		return d, false, r.policy.refusalOf(wanted, r.isOwn)
	}
	if d.name = r.nameOf(wanted.Addr()); d.name == "" {
		d.name = wanted.Addr().String()
		return d, true, "no name was asked for that has this address"
	}
	if !r.policy.allowsHost(d.name, d.port) {
		return d, true, fmt.Sprintf("port %d of it is not allowed", d.port)
	}

	addrs, err := r.lookup(ctx, d.name)
	if err != nil || len(addrs) == 0 {
		return d, true, "the name could not be resolved"
	}

	for _, a := range addrs {
		to := netip.AddrPortFrom(a.Unmap(), d.port)
		if why := r.policy.refusalOf(to, r.isOwn); why != "" {
			return d, true, why
		}
		d.to = append(d.to, to)
	}

	return d, true, ""
}

// connect connects to the first address that answers.
func (r *Relay) connect(ctx context.Context, to []netip.AddrPort) (conn *net.TCPConn, err error) {
	for _, a := range to {
		if conn, err = r.dial(ctx, a); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// copyBoth copies in both directions until both have ended.
func (r *Relay) copyBoth(d destination, inside, outside *net.TCPConn) {
	var both sync.WaitGroup
	both.Go(func() {
		r.copyOne(outside, inside, func(n int64) int64 { return r.spend(d, true, n) })
	})
	r.copyOne(inside, outside, func(n int64) int64 { return r.spend(d, false, n) })
	both.Wait()
}

// copyOne copies from one connection to the other, and passes on the end of what was sent. Bytes are
// counted before they are copied: 60 connections that each copy first went 60 times above the limit
// (NET-07, TestBytesOfManyConnectionsAreBounded). If a limit ends, both are reset. Between two TCP
// connections the kernel moves the bytes (splice).
func (r *Relay) copyOne(to, from *net.TCPConn, spend func(int64) int64) {
	for {
		n, err := waiting(from)
		if err == nil && n == 0 {
			_ = to.CloseWrite()
			return
		}
		if err == nil {
			n = spend(n)
		}
		if err == nil && n > 0 {
			if _, err = io.CopyN(to, from, n); err == nil {
				continue
			}
		}

		reset(from)
		reset(to)
		return
	}
}

// waiting waits until bytes can be read from a connection, and returns how many. 0 is the end.
func waiting(from *net.TCPConn) (n int64, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}

	var one [1]byte
	var failed error
	err = raw.Read(func(fd uintptr) (done bool) {
		peeked, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			return false
		}
		n, failed = int64(peeked), err
		if peeked > 0 {
			if all, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ); err == nil {
				n = max(n, int64(all))
			}
		}
		return true
	})

	return n, errors.Join(err, failed)
}

// connected counts a connection to a host.
func (r *Relay) connected(d destination) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.host(d.name, d.port).Connections++
}

// spend counts up to n bytes that a connection will send or receive, and returns how many it may.
// 0: none, because of a limit.
func (r *Relay) spend(d destination, sending bool, n int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()

	maximum, used, verb := r.policy.Limits.BytesIn, &r.usage.bytesIn, "received"
	if sending {
		maximum, used, verb = r.policy.Limits.BytesOut, &r.usage.bytesOut, "sent"
	}

	n = min(n, maximum-*used)
	if n == 0 {
		r.usage.refuse(d.name, d.port, fmt.Sprintf("more than %s %s", api.Size(maximum), verb))
		return 0
	}

	*used += n
	h := r.usage.host(d.name, d.port)
	if sending {
		h.BytesOut += n
	} else {
		h.BytesIn += n
	}

	return n
}

// shortError is the reason of a failed connection, without addresses.
func shortError(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		if op.Timeout() {
			return "no answer in time"
		}
		return op.Err.Error()
	}
	return err.Error()
}
