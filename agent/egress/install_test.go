package egress

import (
	"net/netip"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// An installer reaches its index and nothing else. The default index of a language must be public; one
// that the caller names may be on this host.
func TestInstallersReachTheirIndexAlone(t *testing.T) {
	about := api.LanguagePackages{Index: "https://pypi.test/simple", Hosts: []string{"files.test"}}
	p, err := InstallPolicy(t.Context(), about, "")
	if err != nil {
		t.Fatal(err)
	}

	for name, port := range map[string]uint16{"pypi.test": 443, "files.test": 443} {
		if !p.allowsHost(name, port) {
			t.Errorf("%s:%d is refused", name, port)
		}
	}

	if p.allowsHost("pypi.test", 80) || p.allowsHost("evil.test", 443) || p.Public || len(p.Internal) > 0 {
		t.Errorf("the policy allows more: %+v", p)
	}

	p, err = InstallPolicy(t.Context(), about, "http://127.0.0.1:3141/simple")
	if err != nil {
		t.Fatal(err)
	}

	own := func(netip.Addr) bool { return true }
	if why := p.refusalOf(netip.MustParseAddrPort("127.0.0.1:3141"), own); why != "" ||
		!p.allowsAddress(netip.MustParseAddrPort("127.0.0.1:3141")) {
		t.Errorf("the index of the caller is refused: %s", why)
	}

	for _, other := range []string{"127.0.0.1:80", "127.0.0.2:3141", "169.254.169.254:3141"} {
		if a := netip.MustParseAddrPort(other); p.allowsAddress(a) || p.refusalOf(a, own) == "" {
			t.Errorf("%s is allowed", other)
		}
	}

	if p.allowsHost("files.test", 443) {
		t.Error("another index has the hosts of the language's")
	}

	p, err = InstallPolicy(t.Context(), about, "http://localhost:3141/simple")
	if err != nil || !p.allowsHost("localhost", 3141) || len(p.Internal) == 0 {
		t.Fatalf("an index by the name of this host: %+v, %v", p, err)
	}
	if !p.allowsAddress(netip.MustParseAddrPort("127.0.0.1:3141")) || p.allowsAddress(netip.MustParseAddrPort("127.0.0.1:80")) {
		t.Errorf("addresses of localhost: %+v", p.Rules)
	}
	if addrs, err := p.Lookup(t.Context(), "localhost"); err != nil || len(addrs) == 0 || !addrs[0].IsLoopback() {
		t.Errorf("%v, %v", addrs, err)
	}
	if _, err := InstallPolicy(t.Context(), about, "ftp://x"); err == nil {
		t.Error("a URL that is none is taken")
	}
}
