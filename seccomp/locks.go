package seccomp

import "slices"

// A LockKind says which kind of file lock a call can make.
type LockKind int

const (
	NoLock       LockKind = iota
	RecordLock            // on a part of a file, owned by a process: at most two kernel objects
	WholeLock             // flock: one kernel object, owned by an open file
	OpenFileLock          // F_OFD_SETLK and leases: any number per open file, which needs no descriptor
)

// LockOf derives from the arguments of a call which locks it can make. The kernel reads
// an int from the second argument: the command of fcntl(2), the operation of flock(2).
// GETLK counts as RecordLock, OFD_GETLK and GETLEASE as OpenFileLock: a program that
// queries such locks will also make some.
func LockOf(call string, args [6]uint64) LockKind {
	switch arg := uint32(args[1]); call {
	case "fcntl":
		switch arg {
		case 5, 6, 7: // GETLK SETLK SETLKW
			return RecordLock
		case 36, 37, 38, // OFD_GETLK OFD_SETLK OFD_SETLKW
			1024, 1025, 1039, 1040: // SETLEASE GETLEASE, GETDELEG and SETDELEG of Linux 6.19
			return OpenFileLock
		}
	case "flock":
		if arg&^flockNonblock != flockUnlock {
			return WholeLock
		}
	}

	return NoLock
}

// Operations of flock(2): LOCK_UN and LOCK_NB.
const (
	flockUnlock   = 8
	flockNonblock = 4
)

// lockCalls are those that LockOf knows.
var lockCalls = calls("fcntl flock")

// listingCalls read a directory.
var listingCalls = calls("getdents64 getdents")

// countedCalls are those that the agent can count.
var countedCalls = slices.Concat(lockCalls, listingCalls, calls("listen socket"))

// CountLocks returns p with count in place of allow and log for calls that make file
// locks, for built-in and custom profiles alike: the kernel charges these locks to no
// group, so no profile may allow them without a limit. If a rule also allows other
// commands of fcntl, all of them get count, which is slower; the agent distinguishes them.
func CountLocks(p Profile) Profile {
	return countCalls(p, lockCalls, mayMakeLocks, "the default allows it: the agent counts the file locks that it makes")
}

// CountListings returns p with count in place of allow and log for calls that read a directory: for runs
// whose root is an overlay, which keeps a list of names for each open directory, charged to no group.
func CountListings(p Profile) Profile {
	always := func(string, []ArgCond) bool { return true }
	return countCalls(p, listingCalls, always, "the default allows it: the agent counts the lists of names that it makes")
}

// countCalls returns p with count in place of allow and log for some calls, where the conditions of a rule
// admit arguments that have to be counted. why is of the rule for calls that the default allows.
func countCalls(p Profile, these []string, may func(call string, conds []ArgCond) bool, why string) Profile {
	rules := p.Rules
	p.Rules = nil
	answered := map[string]bool{}
	for _, r := range rules {
		var count, others []string
		for _, n := range r.Names {
			if slices.Contains(these, n) {
				answered[n] = answered[n] || len(r.Args) == 0
				if r.Action.Open() && may(n, r.Args) {
					count = append(count, n)
					continue
				}
			}
			others = append(others, n)
		}

		if len(others) > 0 {
			left := r
			left.Names = others
			p.Rules = append(p.Rules, left)
		}
		if len(count) > 0 {
			r.Names, r.Answer = count, Count()
			p.Rules = append(p.Rules, r)
		}
	}

	if p.Default.Action.Open() {
		for _, n := range these {
			if !answered[n] {
				p.Rules = withoutMultiArgRules(p.Rules, n)
				p.Rules = append(p.Rules, Rule{Names: []string{n}, Answer: Count(), Why: why})
			}
		}
	}

	return p
}

// withoutMultiArgRules returns rules without those that allow a call depending on several
// arguments: the rule for all other arguments allows it as well, and libraries cannot
// express "all other arguments" next to such rules.
func withoutMultiArgRules(rules []Rule, call string) []Rule {
	var out []Rule
	for _, r := range rules {
		if len(r.Args) > 1 && r.Action.Open() && slices.Contains(r.Names, call) {
			r.Names = slices.DeleteFunc(slices.Clone(r.Names), func(n string) bool { return n == call })
		}
		if len(r.Names) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// mayMakeLocks reports whether the conditions admit arguments with which the call makes
// locks.
func mayMakeLocks(call string, conds []ArgCond) bool {
	at := slices.IndexFunc(conds, func(c ArgCond) bool { return c.Index == 1 })
	return at < 0 || conds[at].mask() != ^uint64(0) || LockOf(call, [6]uint64{1: conds[at].Value}) != NoLock
}

// onlyOpenFileLocks reports whether the conditions admit only calls that make or query
// locks of an open file.
func onlyOpenFileLocks(call string, conds []ArgCond) bool {
	at := slices.IndexFunc(conds, func(c ArgCond) bool { return c.Index == 1 })
	return at >= 0 && uint32(conds[at].mask()) == ^uint32(0) && LockOf(call, [6]uint64{1: conds[at].Value}) == OpenFileLock
}
