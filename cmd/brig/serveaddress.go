package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// named refuses what no Host header is compared with: more than a name.
func (o serveOptions) named() error {
	for _, h := range o.hosts {
		ip, err := netip.ParseAddr(h)
		if err == nil && ip.IsUnspecified() { // nobody calls it so; the port is that of --listen, if that is one
			_, port, err := net.SplitHostPort(o.listen)
			if err != nil {
				port = "8080"
			}
			return fmt.Errorf("--host %q is an address to listen on, and --host a name that callers use: did you mean --listen %s?", h, net.JoinHostPort(h, port))
		}
		if err != nil && (h == "" || strings.ContainsAny(h, ":/[] \t*")) {
			return fmt.Errorf("--host %q: write a name alone, such as judge.example, without http://, port or path", h)
		}
	}
	return nil
}

// safe refuses to let whoever reaches a public address run programs (API-12).
func (o serveOptions) safe() error {
	if _, _, err := net.SplitHostPort(o.listen); err != nil && !strings.HasPrefix(o.listen, "unix:") {
		return fmt.Errorf("--listen %q: write host:port, or unix:/path", o.listen)
	}
	if o.keys != "" || o.local() {
		return nil
	}
	return fmt.Errorf("--listen %s can be reached by others, who could all run programs: set --keys FILE (brig key add NAME makes a key and the file), or listen on 127.0.0.1", o.listen)
}

// local says whether only this host reaches the address.
func (o serveOptions) local() bool {
	host, _, _ := net.SplitHostPort(o.listen)
	ip, err := netip.ParseAddr(host)
	return strings.HasPrefix(o.listen, "unix:") || host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// open binds the address.
func (o serveOptions) open() (net.Listener, error) {
	path, unix := strings.CutPrefix(o.listen, "unix:")
	if !unix {
		ln, err := net.Listen("tcp", o.listen)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%s is in use: stop what listens there, or choose another with --listen", o.listen)
		}
		return ln, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("somebody answers on %s already", path), c.Close())
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil { // of a service that was killed
			return nil, err
		}
	}
	// Whoever can connect may run programs: not everybody, whatever the umask is.
	defer syscall.Umask(syscall.Umask(0o117))
	return net.Listen("unix", path)
}

func (o serveOptions) url(at net.Addr) string {
	if at.Network() == "unix" {
		return "/docs/"
	}
	scheme := "http"
	if o.cert != "" {
		scheme = "https"
	}
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() { // no address to go to
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		return fmt.Sprintf("%s://%s/docs/", scheme, net.JoinHostPort(host, strconv.Itoa(tcp.Port)))
	}
	return fmt.Sprintf("%s://%s/docs/", scheme, at)
}
