package egress

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// NET-07. Connections at the same time send together no more than the limit: each one's bytes are counted
// before they are copied.
func TestBytesOfManyConnectionsAreBounded(t *testing.T) {
	const maximum = 1 << 20
	in := relayed(t, Limits{BytesOut: maximum})
	const connections = 60
	var all sync.WaitGroup
	ended := make(chan struct{}, connections)
	for range connections {
		all.Go(func() {
			defer func() { ended <- struct{}{} }()
			conn, err := net.Dial("tcp4", in.ports[0].String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()

			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = conn.Write(make([]byte, 1000<<10)) // the limit ends it
			_, _ = io.Copy(io.Discard, conn)          // what the kernel took is not with the relay yet
		})
	}

	for range connections - 1 { // the relay may have passed on all that one has sent
		<-ended
	}

	u := in.relay.Close()
	all.Wait()
	if u.BytesOut != maximum || len(u.Refused) == 0 {
		t.Errorf("%d bytes sent, refused: %v; want exactly %d, and refusals", u.BytesOut, u.Refused, maximum)
	}
}

// What an operator lists bounds what a caller may list.
func TestWithin(t *testing.T) {
	maximum := rules(t, "a.test", "*.b.test:8443", "*.b.test:443", "10.1.0.0/16:80", "c.test:443")
	for entry, want := range map[string]uint16{
		"a.test": 0, "A.test.:80": 0, "a.test:443": 0,
		"x.b.test:443": 0, "x.y.b.test:8443": 0, "*.b.test:443": 0, "*.x.b.test:443": 0,
		"10.1.2.3:80": 0, "10.1.2.0/24:80": 0, "10.1.0.0/16:80": 0,
		"a.test:22": 22, "*.a.test:443": 443, "x.a.test:443": 443,
		"b.test:443": 443, "x.b.test": 80, "xb.test:443": 443, "*.test:443": 443,
		"10.1.2.3": 443, "10.0.0.0/8:80": 80, "10.2.0.1:80": 80, "0.0.0.0/0:80": 80,
		"c.test": 80,
	} {
		port, ok := Within(rules(t, entry)[0], maximum)
		if port != want || ok != (want == 0) {
			t.Errorf("%s: port %d, %v; want port %d", entry, port, ok, want)
		}
	}
}

// NET-01. A relay that does not know the addresses of its host relays nothing: it would reach them.
func TestUnknownOwnAddressesAreAnError(t *testing.T) {
	r := newRelay(Policy{Public: true})
	if r.ownErr != nil || len(r.own) == 0 {
		t.Fatalf("%v, %v", r.own, r.ownErr)
	}
	r.ownErr = syscall.EAFNOSUPPORT
	if err := r.start(nil); !errors.Is(err, syscall.EAFNOSUPPORT) || !strings.Contains(err.Error(), "AF_NETLINK") {
		t.Error(err)
	}
}

func TestParseInternal(t *testing.T) {
	for entry, want := range map[string]string{
		"127.0.0.1:8000": "", "10.0.0.0/8:3141": "",
		"127.0.0.1": "write ADDRESS:PORT", "10.0.0.0/8": "write ADDRESS:PORT", "a.test:80": "write ADDRESS:PORT", "": "the name is empty",
	} {
		r, err := ParseInternal(entry)
		if want == "" && (err != nil || r.String() != entry) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v; want %q", entry, r, err, want)
		}
	}
}
