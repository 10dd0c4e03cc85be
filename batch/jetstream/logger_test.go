package jetstream

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
)

// Connections without a key cause a line of the log for each second, not one each.
func TestConnectionsDoNotFillTheLog(t *testing.T) {
	key, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}

	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}

	var log bytes.Buffer // slog's handler writes one line at a time; it is read after the server has ended
	server, err := StartServer(ServerConfig{
		Dir: t.TempDir(), Listen: "127.0.0.1:0", Workers: []Worker{{Name: "w", Pool: "p", Key: public}},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}

	begin := time.Now()
	const attempts = 50
	for range attempts {
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("CONNECT {}\r\nPING\r\n")); err != nil {
			t.Fatal(err)
		}

		answer := make([]byte, 4096)
		for { // until the server has refused it
			if _, err := c.Read(answer); err != nil {
				break
			}
		}

		c.Close()
	}

	server.Stop()
	seconds := int(time.Since(begin)/time.Second) + 2
	lines := strings.Count(log.String(), "\n")
	if !strings.Contains(log.String(), "authentication error") || lines > seconds || lines >= attempts {
		t.Errorf("%d lines for %d connections in %d s:\n%s", lines, attempts, seconds, log.String())
	}
}
