package seccomp

import "slices"

// A LockKind says which locks of files a call can make.
type LockKind int

const (
	NoLock       LockKind = iota
	RecordLock            // on a part of a file, for a process: two objects of the kernel's at most
	WholeLock             // flock: one object, for an open file
	OpenFileLock          // F_OFD_SETLK and leases: any number for an open file, which needs no descriptor
)

// LockOf tells from the arguments of a call which locks it can make. The kernel reads
// an int of the second: the command of fcntl(2), the operation of flock(2). GETLK counts
// as RecordLock, OFD_GETLK and GETLEASE as OpenFileLock: whoever asks will make some.
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
		if arg&^lockNow != lockGiveBack {
			return WholeLock
		}
	}
	return NoLock
}

// Operations of flock(2): LOCK_UN and LOCK_NB.
const (
	lockGiveBack = 8
	lockNow      = 4
)

// lockCalls are those that LockOf knows.
var lockCalls = calls("fcntl flock")

// CountLocks returns p with count in place of allow and log for calls that make locks of
// files, whoever wrote it: what they make is no group's memory, so no profile may let them
// through without a bound. A rule that allows other commands of fcntl too has all of them
// counted, which takes longer; the agent tells them apart.
func CountLocks(p Profile) Profile {
	rules := p.Rules
	p.Rules = nil
	answered := map[string]bool{}
	for _, r := range rules {
		var locks, others []string
		for _, n := range r.Names {
			if slices.Contains(lockCalls, n) {
				answered[n] = answered[n] || len(r.Args) == 0
				if r.Action.Open() && mayMakeLocks(n, r.Args) {
					locks = append(locks, n)
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
		if len(locks) > 0 {
			r.Names, r.Answer = locks, Count()
			p.Rules = append(p.Rules, r)
		}
	}
	if p.Default.Action.Open() {
		for _, n := range lockCalls {
			if !answered[n] {
				p.Rules = withoutSeveral(p.Rules, n)
				p.Rules = append(p.Rules, Rule{Names: []string{n}, Answer: Count(), Why: "the default lets it through: the agent counts what locks of files it makes"})
			}
		}
	}
	return p
}

// withoutSeveral returns rules without those that let a call through by several arguments: the
// rule for all others lets it through as well, and libraries cannot say "all others" beside them.
func withoutSeveral(rules []Rule, call string) []Rule {
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

// mayMakeLocks reports whether conditions of a call let arguments through by which it
// makes locks.
func mayMakeLocks(call string, conds []ArgCond) bool {
	at := slices.IndexFunc(conds, func(c ArgCond) bool { return c.Index == 1 })
	return at < 0 || conds[at].mask() != ^uint64(0) || LockOf(call, [6]uint64{1: conds[at].Value}) != NoLock
}

// asksForOpenFileLocks reports whether conditions let nothing through but calls that make
// locks of an open file, or ask for one.
func asksForOpenFileLocks(call string, conds []ArgCond) bool {
	at := slices.IndexFunc(conds, func(c ArgCond) bool { return c.Index == 1 })
	return at >= 0 && uint32(conds[at].mask()) == ^uint32(0) && LockOf(call, [6]uint64{1: conds[at].Value}) == OpenFileLock
}
