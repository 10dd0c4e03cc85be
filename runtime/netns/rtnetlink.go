package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// loopback is the index of lo in every namespace.
const loopback = 1

// Messages of rtnetlink(7).
var (
	// routeOfEverything is the route "local 0.0.0.0/0 dev lo".
	routeOfEverything = message(unix.RTM_NEWROUTE,
		[]byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0},
		attribute(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopback)))

	// addressOfLoopback gives lo the address 198.18.255.254. glibc's getaddrinfo with AI_ADDRCONFIG finds no
	// IPv4 address of a name where 127.0.0.1 is the only one of the host.
	addressOfLoopback = message(unix.RTM_NEWADDR,
		binary.NativeEndian.AppendUint32([]byte{unix.AF_INET, 32, 0, unix.RT_SCOPE_UNIVERSE}, loopback),
		attribute(unix.IFA_LOCAL, []byte{198, 18, 255, 254}))
)

// message is a request that is acknowledged: its header is followed by the parts.
func message(kind uint16, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	ne := binary.NativeEndian
	b := ne.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = ne.AppendUint16(b, kind)
	b = ne.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = append(b, make([]byte, 8)...) // sequence number and port
	return append(b, body...)
}

// attribute is an attribute of a message, with a value of a multiple of 4 bytes.
func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(value)))
	return append(binary.NativeEndian.AppendUint16(b, kind), value...)
}

// rtnetlink has the kernel carry out one message in the thread's network namespace.
func rtnetlink(m []byte) (err error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return os.NewSyscallError("socket netlink", err)
	}
	defer func() { err = errors.Join(err, unix.Close(s)) }()

	if err := unix.Sendto(s, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("send to netlink", err)
	}

	reply := make([]byte, 512)
	n, _, err := unix.Recvfrom(s, reply, 0)
	if err != nil {
		return os.NewSyscallError("receive from netlink", err)
	}

	ne := binary.NativeEndian
	if n < unix.SizeofNlMsghdr+4 || ne.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("BUG: netlink answered with %d bytes of type %d", n, ne.Uint16(reply[4:]))
	}
	if errno := -int32(ne.Uint32(reply[unix.SizeofNlMsghdr:])); errno != 0 {
		return fmt.Errorf("set up the network of a run: %w", unix.Errno(errno))
	}
	return nil
}
