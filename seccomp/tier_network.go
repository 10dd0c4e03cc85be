package seccomp

import "slices"

const (
	afInet              = 2 // socket.h
	afInet6             = 10
	afNetlink           = 16
	sockRaw             = 3
	sockDatagram        = 2
	protoTCP, protoUDP  = 6, 17
	routeNetlink        = 0    // NETLINK_ROUTE of netlink.h
	levelIP, levelTCP   = 0, 6 // of socket options
	tcpNoDelay, tcpCork = 1, 3 // tcp.h
	tcpKeepIdle         = 4
	tcpKeepInterval     = 5
	tcpKeepCount        = 6
	tcpUserTimeout      = 18
	ipTypeOfService     = 1 // in.h
	ipTimeToLive        = 2
	ipReceiveErrors     = 11
	ipMulticastAll      = 49
	socketReuseAddress  = 2 // of level solSocket
	socketBroadcast     = 6
	socketKeepAlive     = 9
	socketLinger        = 13
	socketAcceptsConns  = 30
)

// networkRules are added to the managed rules for the tier network: TCP and UDP over IPv4. The run
// has a network namespace of its own, whose only interface is its loopback.
func networkRules() []Rule {
	const anInt = 1<<32 - 1 // the bits of a register that the kernel takes
	why := "TCP and UDP over IPv4 in the run's own network namespace; no raw sockets, no other protocol (MPTCP, " +
		"SCTP, DCCP), no other family"
	whyNot := "the answer of a kernel without IPv6: after another error .NET takes IPv6 for there, and tries nothing else"
	socket := func(kind uint64, protocols ...uint64) []Rule {
		var out []Rule
		for _, p := range protocols {
			// The refusal compares the same registers: libseccomp compiles no other set next to these.
			six := []ArgCond{masked(0, anInt, afInet6), masked(1, anInt&^openFlags, kind), masked(2, anInt, p)}
			out = append(out,
				when("socket", why, eq(0, afInet), masked(1, ^uint64(openFlags), kind), eq(2, p)),
				Rule{Names: calls("socket"), Args: six, Answer: Fail(EAFNOSUPPORT), Why: whyNot})
		}
		return out
	}

	messages := "messages with several parts, and name look-ups of glibc, which sends two queries at once; no " +
		"MSG_OOB (CVE-2025-38236), no MSG_ZEROCOPY. Descriptors in messages can hide open files, so locks are counted as held (MEM-40)"
	return slices.Concat(
		socket(sockStream, 0, protoTCP),
		socket(sockDatagram, 0, protoUDP),
		[]Rule{
			plain(Allow(), "connections; nothing but the run's own loopback is reachable, and the sockets of the "+
				"caller that relays", "connect bind accept accept4"),
			plain(Count(), "servers on the run's own loopback; the agent counts the calls, because connections in a "+
				"listener's queue are charged to no group (MEM-43)", "listen"),
			{
				Names: calls("socket"), Answer: Count(),
				Args: []ArgCond{eq(0, afNetlink), masked(1, ^uint64(openFlags), sockRaw), eq(2, routeNetlink)},
				Why: "getifaddrs: the addresses of the run's own interface, without which C# finds no IPv4; changes " +
					"need CAP_NET_ADMIN. The agent counts the calls, because answers that are not read are charged to no group (MEM-45)",
			},
			when("sendmsg", messages, masked(2, badSendFlags, 0)),
			when("sendmmsg recvmmsg", messages, masked(3, badSendFlags, 0)),
		},
		optionsOf("getsockopt", solSocket, "ACCEPTCONN", socketAcceptsConns),
		optionsOf("setsockopt", solSocket, "REUSEADDR BROADCAST KEEPALIVE LINGER", socketReuseAddress, socketBroadcast,
			socketKeepAlive, socketLinger),
		optionsOf("setsockopt getsockopt", levelTCP, "NODELAY CORK KEEPIDLE KEEPINTVL KEEPCNT USER_TIMEOUT of TCP",
			tcpNoDelay, tcpCork, tcpKeepIdle, tcpKeepInterval, tcpKeepCount, tcpUserTimeout),
		optionsOf("setsockopt getsockopt", levelIP,
			"TOS TTL RECVERR MULTICAST_ALL of IP; glibc sets RECVERR on its sockets for names, Java the last one on "+
				"every UDP socket", ipTypeOfService, ipTimeToLive, ipReceiveErrors, ipMulticastAll),
	)
}

// withoutReceiveBuffer returns rules without those that set the size of a socket's receive buffer. A
// listener passes it on to the connections in its queue, whose memory is charged to no group; the
// maximum is that of the host, often some MiB (MEM-43).
func withoutReceiveBuffer(rules []Rule) []Rule {
	const receiveBuffer = 8 // SO_RCVBUF
	return slices.DeleteFunc(rules, func(r Rule) bool {
		return slices.Contains(r.Names, "setsockopt") && slices.Contains(r.Args, eq(2, receiveBuffer))
	})
}

// optionsOf allows socket options of one level. All others have the default answer: TCP_ULP,
// congestion control by name and netfilter options load code, and opened 11 of 100 published exploits.
func optionsOf(names string, level uint64, text string, options ...uint64) []Rule {
	var out []Rule
	for _, o := range options {
		out = append(out, when(names, "socket options: "+text, eq(1, level), eq(2, o)))
	}
	return out
}
