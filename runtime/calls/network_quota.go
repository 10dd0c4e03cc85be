package calls

import "github.com/brig-sandbox/brig/seccomp"

// A NetworkQuota is how many calls remain to a run, or session, that make kernel memory of sockets which
// is charged to no group. All calls count, also those whose sockets are closed: the agent does not
// follow descriptors. The zero value allows none.
type NetworkQuota struct {
	Listens  int // listen
	Netlinks int // socket, of netlink
}

// Answer decides on a counted call; zero: it may be carried out, or it is another call.
func (q *NetworkQuota) Answer(call string) seccomp.Errno {
	left := &q.Listens
	switch call {
	case "listen":
	case "socket":
		left = &q.Netlinks
	default:
		return 0
	}
	if *left == 0 {
		return seccomp.ENOBUFS
	}
	*left--
	return 0
}
