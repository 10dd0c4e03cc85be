package serve

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

// checkHosts refuses a --host that is more than a name: no Host header could match it.
func (o serveOptions) checkHosts() error {
	for _, h := range o.hosts {
		ip, err := netip.ParseAddr(h)
		if err == nil && ip.IsUnspecified() { // no caller uses it as a name; the port is that of --listen, if it has one
			_, port, err := net.SplitHostPort(o.listen)
			if err != nil {
				port = "8080"
			}
			return fmt.Errorf("--host %q is an address to listen on, but --host takes a name that callers use: did "+
				"you mean --listen %s?", h, net.JoinHostPort(h, port))
		}
		if err != nil && (h == "" || strings.ContainsAny(h, ":/[] \t*")) {
			return fmt.Errorf("--host %q: write only a name, such as judge.example, without http://, port or path", h)
		}
	}

	return nil
}

// checkExposure refuses a public address without keys: anybody who reaches it could run programs (API-12).
func (o serveOptions) checkExposure() error {
	if _, _, err := net.SplitHostPort(o.listen); err != nil && !strings.HasPrefix(o.listen, "unix:") {
		return fmt.Errorf("--listen %q: write host:port, or unix:/path", o.listen)
	}
	if o.keys != "" || o.isLocal() {
		return nil
	}
	return fmt.Errorf("--listen %s can be reached from other hosts, and anybody there could run programs: set --keys "+
		"FILE (brig key add NAME creates a key and the file), or listen on 127.0.0.1", o.listen)
}

// isLocal reports whether only this host can reach the address.
func (o serveOptions) isLocal() bool {
	host, _, _ := net.SplitHostPort(o.listen)
	ip, err := netip.ParseAddr(host)
	return strings.HasPrefix(o.listen, "unix:") || host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// listenOn listens on the address.
func (o serveOptions) listenOn() (net.Listener, error) {
	path, unix := strings.CutPrefix(o.listen, "unix:")
	if !unix {
		ln, err := net.Listen("tcp", o.listen)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%s is in use: stop what listens there, or choose another with --listen", o.listen)
		}
		return ln, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("another process already answers on %s: stop it, or choose another path "+
			"with --listen", path), c.Close())
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil { // of a service that was killed
			return nil, err
		}
	}

	// A process that can connect may run programs, so restrict the mode, whatever the umask is.
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
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() { // not an address to connect to
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		return fmt.Sprintf("%s://%s/docs/", scheme, net.JoinHostPort(host, strconv.Itoa(tcp.Port)))
	}

	return fmt.Sprintf("%s://%s/docs/", scheme, at)
}
