package halfclose

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// The end of the other side is seen although nobody reads what it sent, on each kind of connection; and Stop ends a wait.
func TestHangup(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "tls"} {
		t.Run(network, func(t *testing.T) {
			address, kind := "127.0.0.1:0", "tcp"
			if network == "unix" {
				address, kind = filepath.Join(t.TempDir(), "s"), "unix"
			}
			ln, err := net.Listen(kind, address)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()

			for _, leaves := range []bool{true, false} {
				other, err := net.Dial(kind, ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				accepted, err := ln.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer accepted.Close()

				conn := net.Conn(New(accepted))
				if network == "tls" {
					conn = tls.Server(conn, new(tls.Config)) // its handshake does not matter here
				}
				h, err := Watch(conn)
				if err != nil {
					t.Fatal(err)
				}
				gone := make(chan bool, 1)
				go func() { gone <- h.Wait() }() // joined by the receive below

				write(t, other, "unread")
				if leaves {
					other.Close()
				} else {
					h.Stop()
				}
				select {
				case is := <-gone:
					if is != leaves {
						t.Errorf("gone %v; want %v", is, leaves)
					}
				case <-time.After(time.Minute):
					t.Fatalf("no end; want gone %v", leaves)
				}
			}
		})
	}
}
