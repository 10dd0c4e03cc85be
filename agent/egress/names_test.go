package egress

import (
	"context"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func query(t *testing.T, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: []dnsmessage.Question{
		{Name: dnsmessage.MustNewName(name + "."), Type: kind, Class: dnsmessage.ClassINET},
	}}
	b, err := m.Pack()
	check(t, err)
	return b
}

func TestNamesAreAnsweredByPolicy(t *testing.T) {
	in := start(t, Policy{Rules: rules(t, "api.test", "*.many.test:8443")}, 1, map[string][]string{
		"api.test": {"93.184.216.34"}, "a.many.test": {"93.184.216.35"}, "many.test": {"93.184.216.35"}, "other.test": {"93.184.216.36"},
	})
	for _, tt := range []struct {
		name    string
		kind    dnsmessage.Type
		code    dnsmessage.RCode
		answers int
	}{
		{"api.test", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		{"API.Test", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1}, // 0x20 encoding
		{"api.test", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, 0},
		{"api.test", dnsmessage.TypeTXT, dnsmessage.RCodeSuccess, 0},
		{"a.many.test", dnsmessage.TypeA, dnsmessage.RCodeSuccess, 1},
		{"b.many.test", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0}, // allowed, and does not exist
		{"many.test", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		{"other.test", dnsmessage.TypeA, dnsmessage.RCodeNameError, 0},
		{"other.test", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, 0},
	} {
		m := in.ask(t, tt.name, tt.kind)
		if m.RCode != tt.code || len(m.Answers) != tt.answers || m.ID != 7 || !m.Response {
			t.Errorf("%s %v: %v with %d answers; want %v with %d", tt.name, tt.kind, m.RCode, len(m.Answers), tt.code, tt.answers)
		}
		if tt.answers == 1 {
			a, ok := m.Answers[0].Body.(*dnsmessage.AResource)
			if !ok || !standIns.Contains(netip.AddrFrom4(a.A)) {
				t.Errorf("%s: %v; want an address of %v", tt.name, m.Answers[0].Body, standIns)
			}
		}
	}

	if u := in.relay.Close(); len(u.Refused) != 2 || u.Refused[0].Name != "many.test" || u.Refused[1].Name != "other.test" ||
		u.Refused[1].Count != 2 {
		t.Errorf("refused: %+v", u.Refused)
	}
}

// NET-16. Names of the host's own network look like names that do not exist, unless a rule lists them by themselves: a
// run with network public, or *.lan, cannot tell which there are.
func TestNamesOfTheInside(t *testing.T) {
	hosts := map[string][]string{
		"db.lan": {"10.0.0.5"}, "mixed.lan": {"93.184.216.34", "10.0.0.6"}, "metadata.lan": {"169.254.169.254"},
		"self.lan": {"93.184.216.99"}, "index.lan": {"10.1.2.3"}, "public.lan": {"93.184.216.35"},
	}
	for _, tt := range []struct {
		policy Policy
		found  string // the names that exist for the run
	}{
		{Policy{Public: true}, "public.lan"},
		{Policy{Rules: rules(t, "*.lan:443")}, "public.lan"},
		{Policy{Rules: rules(t, "*.lan:443"), Internal: rules(t, "10.1.2.3:443")}, "index.lan public.lan"},
		{Policy{Rules: rules(t, "*.lan:443"), Internal: rules(t, "10.1.2.3:3141")}, "public.lan"}, // on a port that the run may not use
		{Policy{Rules: rules(t, "*.lan:443", "db.lan:443")}, "db.lan public.lan"},
	} {
		r := newRelay(tt.policy)
		r.own = []netip.Addr{netip.MustParseAddr("93.184.216.99")}
		r.lookup = func(_ context.Context, name string) (all []netip.Addr, err error) {
			for _, a := range hosts[name] {
				all = append(all, netip.MustParseAddr(a))
			}
			if all == nil {
				err = &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
			}
			return all, err
		}

		var found []string
		for _, name := range append(slices.Sorted(maps.Keys(hosts)), "absent.lan") {
			code, address := r.resolveInside(t.Context(), name)
			switch {
			case code == dnsmessage.RCodeSuccess && standIns.Contains(address):
				found = append(found, name)
			case code != dnsmessage.RCodeNameError || address.IsValid():
				t.Errorf("%s: %v, %v", name, code, address)
			}
		}

		if got := strings.Join(found, " "); got != tt.found {
			t.Errorf("%+v: found %q; want %q", tt.policy, got, tt.found)
		}
		if u := r.usage.refused; len(u) > 0 {
			t.Errorf("%+v: what was refused tells them apart: %v", tt.policy, u)
		}
	}
}

// The same by TCP, two queries on one connection.
func TestNamesByTCP(t *testing.T) {
	in := start(t, Policy{Rules: rules(t, "api.test")}, 0, map[string][]string{"api.test": {"93.184.216.34"}})
	conn, err := net.Dial("tcp4", in.tcp.String())
	check(t, err)
	defer conn.Close()

	for range 2 {
		q := query(t, "api.test", dnsmessage.TypeA)
		_, err = conn.Write(append([]byte{0, byte(len(q))}, q...))
		check(t, err)
		var size [2]byte
		_, err = io.ReadFull(conn, size[:])
		check(t, err)
		b := make([]byte, int(size[0])<<8|int(size[1]))
		_, err = io.ReadFull(conn, b)
		check(t, err)
		var m dnsmessage.Message
		if err := m.Unpack(b); err != nil || len(m.Answers) != 1 {
			t.Errorf("%v, %v", m, err)
		}
	}
}

// NET-14. A name in a DNS message may have any bytes. What is no name of a host is not allowed by any
// rule: a resolver could take it for an address, or for a name in the host's search domain.
func TestNamesThatAreAddresses(t *testing.T) {
	for _, p := range []Policy{{Rules: rules(t, "*.example.org:443")}, {Public: true}} {
		for name, want := range map[string]bool{
			"a.example.org": true, "a-b_c.9.example.org": true, "xn--bcher-kva.example.org": true,
			"::ffff:8.8.8.8%x.example.org": false, "8.8.8.8%.example.org": false, "8.8.8.8%25x.example.org": false, "[::1].example.org": false,
			"a b.example.org": false, "a\x00.example.org": false, "a..example.org": false, ".example.org": false, "": false,
			"8.8.8.8": false, "::1": false,
			"ä.example.org": false, strings.Repeat("a", 64) + ".example.org": false, strings.Repeat("a.", 122) + ".example.org": false,
		} {
			if got := p.allowsName(name); got != want {
				t.Errorf("%+v allows the name %.40q: %v", p, name, got)
			}
			if got := p.allowsHost(name, 443); got != want {
				t.Errorf("%+v allows %.40q port 443: %v", p, name, got)
			}
		}
	}
}

// NET-06. A run may ask for so many different names, also names that do not exist, and no more.
func TestNamesAreBounded(t *testing.T) {
	hosts := map[string][]string{}
	for _, n := range []string{"a", "b", "c"} {
		hosts[n+".test"] = []string{"93.184.216.34"}
	}

	in := start(t, Policy{Rules: rules(t, "*.test"), Limits: Limits{Names: 2}}, 0, hosts)
	for name, want := range map[string]dnsmessage.RCode{"a.test": dnsmessage.RCodeSuccess} {
		if m := in.ask(t, name, dnsmessage.TypeA); m.RCode != want {
			t.Errorf("%s: %v", name, m.RCode)
		}
	}

	if m := in.ask(t, "absent.test", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError {
		t.Errorf("a name that does not exist: %v", m.RCode)
	}
	if m := in.ask(t, "c.test", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeRefused {
		t.Errorf("a third name: %v", m.RCode)
	}
	if m := in.ask(t, "a.test", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeSuccess {
		t.Errorf("a known name: %v", m.RCode)
	}
}

func FuzzNames(f *testing.F) {
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("a.test."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	b, err := m.Pack()
	if err != nil {
		f.Fatal(err)
	}

	f.Add(b)
	f.Add([]byte{0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 0x0c, 0, 1, 0, 1}) // a name that points at itself
	f.Fuzz(func(t *testing.T, query []byte) {
		r := newRelay(Policy{Public: true})
		r.lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
		if msg := r.answer(t.Context(), query); msg != nil {
			var m dnsmessage.Message
			if err := m.Unpack(msg); err != nil || !m.Response || len(m.Answers) > 1 {
				t.Errorf("%v: %v", m, err)
			}
		}
	})
}
