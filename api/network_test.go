package api_test

import (
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestAllowEntries(t *testing.T) {
	for _, tt := range []struct {
		entry, host, prefix string
		below               bool
		ports               []uint16
	}{
		{"pypi.org", "pypi.org", "", false, []uint16{80, 443}},
		{"PyPI.org.", "pypi.org", "", false, []uint16{80, 443}},
		{"*.example.org:8443", "example.org", "", true, []uint16{8443}},
		{"localhost:1", "localhost", "", false, []uint16{1}},
		{"xn--bcher-kva.example", "xn--bcher-kva.example", "", false, []uint16{80, 443}},
		{"192.0.2.7:22", "", "192.0.2.7/32", false, []uint16{22}},
		{"192.0.2.7/24", "", "192.0.2.0/24", false, []uint16{80, 443}},
	} {
		r, err := api.ParseAllow(tt.entry)
		prefix := ""
		if r.Prefix.IsValid() {
			prefix = r.Prefix.String()
		}
		if err != nil || r.Host != tt.host || prefix != tt.prefix || r.Below != tt.below || !slices.Equal(r.Ports, tt.ports) ||
			r.String() != tt.entry {
			t.Errorf("%s: %+v, %v", tt.entry, r, err)
		}
	}

	for _, entry := range []string{
		"", ":80", "a.test:", "a.test:0", "a.test:65536", "a.test:http", "https://a.test", "a.test/path", "[::1]:80", "::1", "*",
		"*.", "a*.test", "*.*.test",
		"bücher.example", "a..test", ".test", "127.1", "0x7f000001", "2130706433", "1.2.3.4.5", "a b", "a.test\n", "user@a.test",
		"192.0.2.0/33", "fe80::/10",
	} {
		if r, err := api.ParseAllow(entry); err == nil || !api.HasCode(err, api.CodeBadRequest) {
			t.Errorf("%q: %+v, %v; want %s", entry, r, err, api.CodeBadRequest)
		}
	}
}

func TestNetworksAreOrdered(t *testing.T) {
	for _, tt := range []struct {
		network, maximum string
		within           bool
	}{
		{"", "", true}, {"none", "", true}, {"loopback", "", false}, {"loopback", "loopback", true}, {"allow", "loopback", false},
		{"allow", "public", true}, {"public", "allow", false}, {"public", "public", true},
	} {
		if got := api.NetworkWithin(tt.network, tt.maximum); got != tt.within {
			t.Errorf("%q within %q: %v; want %v", tt.network, tt.maximum, got, tt.within)
		}
	}
}
