package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// BenchmarkRelay downloads through a relay, and directly for comparison.
func BenchmarkRelay(b *testing.B) {
	const size = 64 << 20
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()

	go func() {
		page := make([]byte, 1<<20)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for range size >> 20 {
					if _, err := conn.Write(page); err != nil {
						return
					}
				}
			}()
		}
	}()

	host := l.Addr().(*net.TCPAddr).AddrPort()
	in := start(b, Policy{Limits: Limits{BytesIn: 1 << 50, Connections: 1 << 40}}, 1, nil)
	rule, err := api.ParseAllow(in.ports[0].String())
	if err != nil {
		b.Fatal(err)
	}

	in.relay.mu.Lock()
	in.relay.policy.Rules, in.relay.policy.Internal = []api.AllowRule{rule}, []api.AllowRule{rule}
	in.relay.dial = func(ctx context.Context, _ netip.AddrPort) (*net.TCPConn, error) { return dial(ctx, host) }
	in.relay.mu.Unlock()

	for _, way := range []struct{ name, to string }{{"direct", host.String()}, {"relayed", in.ports[0].String()}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				conn, err := net.Dial("tcp4", way.to)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, conn); err != nil || n != size {
					b.Fatalf("%d bytes: %v", n, err)
				}
				conn.Close()
			}
		})
	}
}
