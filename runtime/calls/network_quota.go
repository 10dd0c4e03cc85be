package calls

import "github.com/brig-sandbox/brig/seccomp"

// A NetworkQuota is how many calls remain to a run, or session, that make kernel memory of sockets which
// is charged to no group. All calls count, also those whose sockets are closed: the agent does not
// follow descriptors. The zero value allows none.
type NetworkQuota struct {
	Listens  int // listen
	Netlinks int // socket, of netlink
}

// answer decides on a call of listen or socket; zero: it may be carried out.
func (q *NetworkQuota) answer(call string) seccomp.Errno {
	left := &q.Listens
	if call == "socket" {
		left = &q.Netlinks
	}
	if *left == 0 {
		return seccomp.ENOBUFS
	}
	*left--
	return 0
}
