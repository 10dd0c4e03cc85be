package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/ipv4"
)

// standIns are the addresses that stand for names inside a run. They are reserved for tests of
// networks (RFC 2544), so that no host has one.
var standIns = netip.MustParsePrefix("198.18.0.0/15")

// answerTTL is how long a run may keep an answer, in seconds. The address of a name never changes in
// one run.
const answerTTL = 60

const (
	maxQuery     = 4096            // bytes
	nameIdleTime = 5 * time.Second // of a TCP connection for names
)

// admitName reports whether the run may ask for a name: it has asked for it before, or not yet for as
// many as it may. Names that do not exist count, too: a program could send data in them.
func (r *Relay) admitName(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.asked[name]; !ok && len(r.asked) >= r.policy.Limits.Names {
		return false
	}
	r.asked[name] = struct{}{}
	return true
}

// addressFor returns the address that stands for an admitted name in this run.
func (r *Relay) addressFor(name string) netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a, ok := r.addresses[name]; ok {
		return a
	}
	b := standIns.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(len(r.addresses))+1)
	a := netip.AddrFrom4(b)
	r.addresses[name], r.names[a] = a, name
	return a
}

// nameOf returns the name that an address stands for; empty: none.
func (r *Relay) nameOf(a netip.Addr) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[a]
}

// answer answers one DNS query; nil: it is none.
func (r *Relay) answer(ctx context.Context, query []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil
	}

	q, err := p.Question()
	if err != nil {
		return nil
	}

	reply := dnsmessage.Header{ID: head.ID, Response: true, RecursionDesired: head.RecursionDesired,
		RecursionAvailable: true}
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	var address netip.Addr
	switch {
	case head.OpCode != 0 || q.Class != dnsmessage.ClassINET:
		reply.RCode = dnsmessage.RCodeNotImplemented
	case !r.policy.allowsName(name):
		r.refuse(name, 0, "the name is not allowed")
		reply.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		reply.RCode, address = r.resolveInside(ctx, name)
	}

	b := dnsmessage.NewBuilder(nil, reply)
	b.EnableCompression()
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	if address.IsValid() {
		err := b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: answerTTL},
			dnsmessage.AResource{A: address.As4()})
		if err != nil {
			return nil
		}
	}

	msg, err := b.Finish()
	if err != nil {
		return nil
	}
	return msg
}

// resolveInside returns what a run gets for a name: the address that stands for it, if it exists
// outside.
func (r *Relay) resolveInside(ctx context.Context, name string) (dnsmessage.RCode, netip.Addr) {
	if !r.admitName(name) {
		r.refuse(name, 0, "too many different names")
		return dnsmessage.RCodeRefused, netip.Addr{}
	}

	ctx, cancel := context.WithTimeout(ctx, r.policy.Limits.DialTimeout)
	defer cancel()

	addrs, err := r.lookup(ctx, name)
	var d *net.DNSError
	switch {
	case errors.As(err, &d) && d.IsNotFound, err == nil && r.hides(name, addrs):
		return dnsmessage.RCodeNameError, netip.Addr{}
	case err != nil:
		r.refuse(name, 0, "the name could not be resolved")
		return dnsmessage.RCodeServerFailure, netip.Addr{}
	}

	return dnsmessage.RCodeSuccess, r.addressFor(name)
}

// hides reports whether a name that no rule lists by itself has an address that is refused on every port. The answer is
// that of a name that does not exist: otherwise a program with network public, or with *.lan, would find out which
// names the host's own name server has (NET-16, TestNamesOfTheInside).
func (r *Relay) hides(name string, addrs []netip.Addr) bool {
	if r.policy.lists(name) {
		return false // the caller knows it, and sees in the result why it is refused
	}
	return slices.ContainsFunc(addrs, func(a netip.Addr) bool {
		return !slices.ContainsFunc(r.policy.ports(name), func(port uint16) bool {
			return r.policy.refusalOf(netip.AddrPortFrom(a.Unmap(), port), r.isOwn) == ""
		})
	})
}

// serveDatagrams answers queries until the socket is closed. The reply comes from the address that
// the query was sent to, whatever resolver the image's files name.
func (r *Relay) serveDatagrams(ctx context.Context, conn net.PacketConn) {
	p := ipv4.NewPacketConn(conn)
	if err := p.SetControlMessage(ipv4.FlagDst, true); err != nil {
		return
	}

	busy := make(chan struct{}, maxQueries)
	buf := make([]byte, maxQuery)
	for {
		n, cm, from, err := p.ReadFrom(buf)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}

		select {
		case busy <- struct{}{}:
		default:
			continue // dropped: the program asks again
		}

		query := append([]byte(nil), buf[:n]...)
		r.tasks.Go(func() {
			defer func() { <-busy }()
			out := &ipv4.ControlMessage{}
			if cm != nil {
				out.Src = cm.Dst
			}
			if msg := r.answer(ctx, query); msg != nil {
				_, _ = p.WriteTo(msg, out, from) // a program that is gone needs no answer
			}
		})
	}
}

// maxQueries is how many queries are answered at once.
const maxQueries = 32

// serveNameConn answers the queries of one TCP connection (RFC 1035, 4.2.2).
func (r *Relay) serveNameConn(ctx context.Context, conn net.Conn) {
	var size [2]byte
	for {
		if conn.SetDeadline(time.Now().Add(nameIdleTime)) != nil {
			return
		}
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}

		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if len(query) > maxQuery {
			return
		}
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}

		msg := r.answer(ctx, query)
		if msg == nil {
			return
		}

		binary.BigEndian.PutUint16(size[:], uint16(len(msg)))
		if _, err := conn.Write(append(size[:], msg...)); err != nil {
			return
		}
	}
}
