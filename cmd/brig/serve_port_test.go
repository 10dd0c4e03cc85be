package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// SANDBOX_PORT is short for --listen: the flag and its own variable take precedence over it, the
// file does not.
func TestServeAddressPrecedence(t *testing.T) {
	taken := func() (port string) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		_, port, _ = net.SplitHostPort(ln.Addr().String())
		return port
	}

	short, long := taken(), taken()
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:"+long+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	inUse := func(port string) string { return "127.0.0.1:" + port + " is in use" } // so that the service does not start
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"the variable", map[string]string{"SANDBOX_PORT": short}, nil, inUse(short)},
		{"it wins over the file", map[string]string{"SANDBOX_PORT": short}, []string{"--config", file}, inUse(short)},
		{"an empty one is none", map[string]string{"SANDBOX_PORT": ""}, []string{"--config", file}, inUse(long)},
		{"the flag wins", map[string]string{"SANDBOX_PORT": short}, []string{"--listen", "127.0.0.1:" + long}, inUse(long)},
		{"the flag's own variable wins", map[string]string{"SANDBOX_PORT": short, "BRIG_SERVE_LISTEN": "127.0.0.1:" + long}, nil, inUse(long)},
		{"a word", map[string]string{"SANDBOX_PORT": "web"}, nil, `SANDBOX_PORT="web": write a port`},
		{"an address", map[string]string{"SANDBOX_PORT": "0.0.0.0:80"}, nil, `SANDBOX_PORT="0.0.0.0:80": write a port`},
		{"too large a number", map[string]string{"SANDBOX_PORT": "65536"}, nil, `SANDBOX_PORT="65536": write a port`},
		{"a number below zero", map[string]string{"SANDBOX_PORT": "-1"}, nil, `SANDBOX_PORT="-1": write a port`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var said bytes.Buffer
			c := &cli.CLI{Stdout: &said, Stderr: &said, Env: func(name string) string { return tt.env[name] }}
			if code := brig(c, append([]string{"serve", "--socket", "/none/socket", "--data-dir", t.TempDir()}, tt.args...)); code != cli.ExitBrig ||
				!strings.Contains(said.String(), tt.want) {
				t.Errorf("exit status %d, %q; want %q", code, said.String(), tt.want)
			}
		})
	}
}
