package calls

import (
	"time"

	"github.com/brig-sandbox/brig/seccomp"
)

// Quotas bound what a run, or session, takes by counted calls: kernel memory that is charged to no group.
type Quotas struct {
	Locks    LockQuota
	Listings ListingQuota
	Network  NetworkQuota
}

// NewQuotas returns the quotas of a run, or session, that holds nothing yet.
func NewQuotas(listings int, n NetworkQuota) Quotas {
	return Quotas{Locks: LockQuota{Calls: LockBatch}, Listings: ListingQuota{maximum: listings, calls: listings}, Network: n}
}

// Due reports whether the next call may need a scan.
func (q *Quotas) Due() bool { return q.Locks.Due() || q.Listings.due() }

// Scans look at what the processes of a run or session hold.
type Scans struct {
	Locks    lockScan
	OnShared func() bool // the descriptor of the call is of a shared file
	Listings func() (held int, err error)
}

// Answer decides on a counted call; zero: it may be carried out. until is when the next call may be
// received; zero: at once.
func (q *Quotas) Answer(call string, args [6]uint64, s Scans) (errno seccomp.Errno, until time.Duration, err error) {
	switch call {
	case "listen", "socket":
		return q.Network.answer(call), 0, nil
	case "getdents64", "getdents":
		return q.Listings.answer(s.Listings)
	default:
		return q.Locks.answer(call, args, s.Locks, s.OnShared)
	}
}
