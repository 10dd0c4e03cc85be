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
func (o serveOptions) checkExposure() error { return checkExposure("--listen ", o.listen, o.keys) }

// checkExposure checks an address to listen on; setting is the text before it, such as a flag.
func checkExposure(setting, address, keys string) error {
	if _, _, err := net.SplitHostPort(address); err != nil && !strings.HasPrefix(address, "unix:") {
		return fmt.Errorf("%s%q: write host:port, or unix:/path", setting, address)
	}
	if keys != "" || isLocal(address) {
		return nil
	}
	return fmt.Errorf("%s%s can be reached from other hosts, and anybody there could run programs: set --keys "+
		"FILE (brig key add NAME creates a key and the file), or listen on 127.0.0.1", setting, address)
}

// isLocal reports whether only this host can reach the address.
func (o serveOptions) isLocal() bool { return isLocal(o.listen) }

func isLocal(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return strings.HasPrefix(address, "unix:") || host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// listenOn listens on the address.
func (o serveOptions) listenOn() (net.Listener, error) { return listenOn("--listen", o.listen) }

// listenOn listens on an address that flag sets.
func listenOn(flag, address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		ln, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("%s is in use: stop what listens there, or choose another with %s", address, flag)
		}
		return ln, err
	}
	if c, err := net.Dial("unix", path); err == nil {
		return nil, errors.Join(fmt.Errorf("another process already answers on %s: stop it, or choose another path "+
			"with %s", path, flag), c.Close())
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
		return "/ui/"
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
		return fmt.Sprintf("%s://%s/ui/", scheme, net.JoinHostPort(host, strconv.Itoa(tcp.Port)))
	}

	return fmt.Sprintf("%s://%s/ui/", scheme, at)
}
