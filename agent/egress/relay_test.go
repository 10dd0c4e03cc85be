package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/brig-sandbox/brig/api"
)

// inside is a relay whose sockets are on this host's loopback, and what a program would use.
type inside struct {
	relay *Relay
	names net.Addr // of the UDP socket
	tcp   net.Addr // of the TCP socket for names
	ports []net.Addr
}

// start starts a relay with so many listening sockets. hosts are the names that exist outside.
func start(t testing.TB, p Policy, listening int, hosts map[string][]string) *inside {
	t.Helper()
	in := &inside{}
	var files []*os.File
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	check(t, err)
	f, err := udp.File()
	check(t, err)
	in.names, files = udp.LocalAddr(), append(files, f)
	udp.Close()

	for i := range listening + 1 {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		check(t, err)
		f, err := l.File()
		check(t, err)
		files = append(files, f)
		if i == 0 {
			in.tcp = l.Addr()
		} else {
			in.ports = append(in.ports, l.Addr())
		}
		l.Close()
	}

	in.relay, err = start2(p, files, hosts)
	check(t, err)
	t.Cleanup(func() { in.relay.Close() })
	return in
}

// start2 is Start with names of the test's own.
func start2(p Policy, files []*os.File, hosts map[string][]string) (*Relay, error) {
	r := newRelay(p)
	r.lookup = func(_ context.Context, name string) (all []netip.Addr, err error) {
		for _, a := range hosts[name] {
			all = append(all, netip.MustParseAddr(a))
		}
		if all == nil {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		return all, nil
	}
	return r, r.start(files)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rules(t *testing.T, entries ...string) []api.AllowRule {
	t.Helper()
	all, err := api.AllowRules(entries)
	check(t, err)
	return all
}

// ask sends one query by UDP.
func (in *inside) ask(t *testing.T, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	conn, err := net.Dial("udp4", in.names.String())
	check(t, err)
	defer conn.Close()

	check(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Write(query(t, name, kind))
	check(t, err)
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	check(t, err)
	var m dnsmessage.Message
	check(t, m.Unpack(buf[:n]))
	return m
}

// NET-01, NET-02. Where a connection goes is decided by the addresses that the name has now, all of
// them.
func TestDestinations(t *testing.T) {
	r := newRelay(Policy{Rules: rules(t, "good.test", "rebind.test", "mixed.test", "mapped.test", "internal.test:3141", "93.184.216.34",
		"10.0.0.0/8:80"), Internal: rules(t, "10.1.2.3:3141")})
	r.own = []netip.Addr{netip.MustParseAddr("93.184.216.99")}
	answers := map[string][]string{
		"good.test": {"93.184.216.40", "2606:2800:220:1::1"}, "rebind.test": {"169.254.169.254"}, "mixed.test": {"93.184.216.40", "127.0.0.1"},
		"mapped.test": {"::ffff:10.0.0.1"}, "internal.test": {"10.1.2.3"},
	}
	r.lookup = func(_ context.Context, name string) (all []netip.Addr, err error) {
		for _, a := range answers[name] {
			all = append(all, netip.MustParseAddr(a))
		}
		return all, nil
	}

	at := func(name string) netip.Addr { return r.addressFor(name) }
	for _, tt := range []struct {
		what string
		to   netip.AddrPort
		ok   bool
	}{
		{"a public host", netip.AddrPortFrom(at("good.test"), 443), true},
		{"another port of it", netip.AddrPortFrom(at("good.test"), 22), false},
		{"the address of cloud metadata", netip.AddrPortFrom(at("rebind.test"), 80), false},
		{"one of two addresses is loopback", netip.AddrPortFrom(at("mixed.test"), 80), false},
		{"a private address mapped to IPv6", netip.AddrPortFrom(at("mapped.test"), 80), false},
		{"an internal service that the operator lists", netip.AddrPortFrom(at("internal.test"), 3141), true},
		{"a listed address", netip.MustParseAddrPort("93.184.216.34:80"), true},
		{"an address that is not listed", netip.MustParseAddrPort("93.184.216.41:80"), false},
		{"a listed range that is private", netip.MustParseAddrPort("10.0.0.7:80"), false},
		{"an address that stands for no name", netip.MustParseAddrPort("198.18.9.9:80"), false},
	} {
		d, _, why := r.destinationOf(t.Context(), tt.to)
		if (why == "") != tt.ok || tt.ok && len(d.to) == 0 {
			t.Errorf("%s: %q, %+v; want allowed: %v", tt.what, why, d, tt.ok)
		}
	}
}

// Every form of a reserved address is refused, whatever lists it by name.
func TestReservedAddresses(t *testing.T) {
	p := Policy{Public: true}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.1",
		"192.168.1.1", "198.18.0.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "203.0.113.5",
		"::", "::1", "fc00::1", "fd12::1", "fe80::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:192.168.0.1", "64:ff9b::7f00:1",
		"::7f00:1", "2002:7f00:1::",
	} {
		if p.refusalOf(netip.AddrPortFrom(netip.MustParseAddr(a), 80), func(netip.Addr) bool { return false }) == "" {
			t.Errorf("%s may be reached", a)
		}
	}

	for _, a := range []string{"93.184.216.34", "1.1.1.1", "172.32.0.1", "192.167.255.255", "2606:2800:220:1::1", "2a00:1450::1"} {
		if why := p.refusalOf(netip.AddrPortFrom(netip.MustParseAddr(a), 80), func(netip.Addr) bool { return false }); why != "" {
			t.Errorf("%s: %s", a, why)
		}
	}
}

// NET-04. The first message of TLS must be for the name that was asked for.
func TestServerName(t *testing.T) {
	hello := func(name string) []byte {
		ours, theirs := net.Pipe()
		go func() {
			c := tls.Client(theirs, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}) //nolint:gosec // no host is there
			_ = c.Handshake()
		}()
		buf := make([]byte, maxHello)
		n, err := ours.Read(buf)
		check(t, err)
		ours.Close()
		return buf[:n]
	}

	good := hello("api.test")
	for _, tt := range []struct {
		what  string
		parts [][]byte
		ok    bool
	}{
		{"the name", [][]byte{good}, true},
		{"in single bytes", split(good), true},
		{"another name", [][]byte{hello("evil.test")}, false},
		{"no name", [][]byte{hello("")}, false},
		{"no TLS", [][]byte{[]byte("GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")}, false},
		{"nothing", nil, false},
		{"an endless record", [][]byte{append([]byte{22, 3, 1, 0x3f, 0xff, 1, 0, 0xff, 0xff}, make([]byte, 2*maxHello)...)}, false},
	} {
		wait := time.Minute
		if tt.parts == nil {
			wait = 300 * time.Millisecond
		}

		r := newRelay(Policy{Limits: Limits{ServerNameWait: wait}})
		seen := make(chan struct{})
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		check(t, err)
		go func() {
			conn, err := net.Dial("tcp4", l.Addr().String())
			if err != nil {
				return
			}
			defer conn.Close()
			for _, p := range tt.parts {
				if _, err := conn.Write(p); err != nil {
					return
				}
			}
			<-seen
		}()

		conn, err := l.Accept()
		check(t, err)
		read, why := r.checkServerName(conn.(*net.TCPConn), "api.test")
		close(seen)
		if (why == "") != tt.ok {
			t.Errorf("%s: %q; want ok: %v", tt.what, why, tt.ok)
		}
		if tt.ok && !strings.HasPrefix(string(good), string(read)) {
			t.Errorf("%s: %d bytes are passed on that were not sent", tt.what, len(read))
		}

		conn.Close()
		l.Close()
	}
}

func split(b []byte) (out [][]byte) {
	for i := range b {
		out = append(out, b[i:i+1])
	}
	return out
}

// echo is a host outside: it answers each connection with what it gets.
func echo(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()

	return l.Addr().(*net.TCPAddr).AddrPort()
}

// relayed returns a relay that sends every connection to a host of the test.
func relayed(t *testing.T, l Limits) *inside {
	host := echo(t)
	in := start(t, Policy{Limits: l}, 1, nil)
	port := in.ports[0].(*net.TCPAddr).AddrPort()
	rule, err := api.ParseAllow(port.String())
	check(t, err)
	in.relay.mu.Lock()
	in.relay.policy.Rules, in.relay.policy.Internal = []api.AllowRule{rule}, []api.AllowRule{rule}
	in.relay.dial = func(ctx context.Context, _ netip.AddrPort) (*net.TCPConn, error) { return dial(ctx, host) }
	in.relay.mu.Unlock()
	return in
}

func TestBytesAreRelayedAndCounted(t *testing.T) {
	in := relayed(t, Limits{})
	conn, err := net.Dial("tcp4", in.ports[0].String())
	check(t, err)
	text := strings.Repeat("brig ", 1<<20)
	go func() {
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	back, err := io.ReadAll(conn)
	if err != nil || string(back) != text {
		t.Errorf("%d of %d bytes came back: %v", len(back), len(text), err)
	}

	conn.Close()
	u := in.relay.Close()
	if u.Connections != 1 || u.BytesOut != int64(len(text)) || u.BytesIn != int64(len(text)) || len(u.Hosts) != 1 ||
		u.Hosts[0].Name != "127.0.0.1" {
		t.Errorf("%+v", u)
	}
}

// NET-07. A limit on bytes ends the connection, with an error and not with an ordinary end.
func TestBytesAreBounded(t *testing.T) {
	in := relayed(t, Limits{BytesOut: 1 << 20})
	conn, err := net.Dial("tcp4", in.ports[0].String())
	check(t, err)
	defer conn.Close()

	go io.Copy(io.Discard, conn) //nolint:errcheck // its end is what counts
	_, err = conn.Write(make([]byte, 8<<20))
	for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); {
		_, err = conn.Write([]byte("x"))
	}

	if err == nil {
		t.Error("more than the limit was sent")
	}

	u := in.relay.Close()
	if u.BytesOut > 1<<20 || len(u.Refused) == 0 || !strings.Contains(u.Refused[0].Why, "sent") {
		t.Errorf("%+v", u)
	}
}

// NET-05. Connections are bounded, and Close ends those that never end.
func TestConnectionsAreBoundedAndEnd(t *testing.T) {
	in := relayed(t, Limits{Simultaneous: 4, Connections: 6})
	var open []net.Conn
	refused := 0
	for range 12 {
		conn, err := net.Dial("tcp4", in.ports[0].String())
		if errors.Is(err, syscall.ECONNRESET) { // before the dialer has looked
			refused++
			continue
		}

		check(t, err)
		defer conn.Close()

		check(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, _ = conn.Write([]byte("x"))
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil {
			refused++
		} else {
			open = append(open, conn)
		}
	}

	if len(open) != 4 || refused != 8 {
		t.Errorf("%d connections at a time, %d refused; want 4 and 8", len(open), refused)
	}

	done := make(chan api.NetworkUsage)
	go func() { done <- in.relay.Close() }()
	select {
	case u := <-done:
		if u.Connections != 4 {
			t.Errorf("%+v", u)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close waits for connections that the program keeps")
	}

	for _, conn := range open {
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection is open after the end: %v", err)
		}
	}
}
