package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// maxHello bounds the first message of TLS.
const maxHello = 16 << 10

var errSeen = errors.New("the server name was read")

// checkServerName reads the first message of TLS and compares the server name in it with the name
// that the run asked for. Otherwise an allowed host could be a front for any other one behind the
// same address (NET-04). It returns the bytes that it read, which the host must get.
func (r *Relay) checkServerName(conn *net.TCPConn, name string) (read []byte, why string) {
	if conn.SetReadDeadline(time.Now().Add(r.policy.Limits.ServerNameWait)) != nil {
		return nil, "the connection has ended"
	}

	seen := &helloConn{from: io.LimitReader(conn, maxHello)}
	server := ""
	err := tls.Server(seen, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			server = strings.ToLower(strings.TrimSuffix(h.ServerName, "."))
			return nil, errSeen
		},
	}).Handshake()

	switch {
	case !errors.Is(err, errSeen):
		return nil, "port 443 of a name is for TLS, and no TLS message came"
	case server == "":
		return nil, "the TLS message has no server name"
	case server != name:
		return nil, "the TLS message is for another server name"
	}

	if conn.SetReadDeadline(time.Time{}) != nil {
		return nil, "the connection has ended"
	}
	return seen.read.Bytes(), ""
}

// A helloConn lets crypto/tls read the first message, and keeps it. It sends nothing.
type helloConn struct {
	net.Conn
	from io.Reader
	read bytes.Buffer
}

func (c *helloConn) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.read.Write(b[:n])
	return n, err
}

func (c *helloConn) Write(b []byte) (int, error)      { return len(b), nil }
func (c *helloConn) Close() error                     { return nil }
func (c *helloConn) SetDeadline(time.Time) error      { return nil }
func (c *helloConn) SetReadDeadline(time.Time) error  { return nil }
func (c *helloConn) SetWriteDeadline(time.Time) error { return nil }
