package quota

// A Rule reports whether a key that has own units may have n more, while all keys together have
// all units.
type Rule func(own, all, n int64) bool

// UpTo lets all keys together have at most maximum units, whichever key has them.
func UpTo(maximum int64) Rule {
	return func(_, all, n int64) bool { return all+n <= maximum }
}

// PerKey lets each key have at most maximum units.
func PerKey(maximum int64) Rule {
	return func(own, _, n int64) bool { return own+n <= maximum }
}

// Fair reports whether one of several keys may have n more of the maximum units that all keys share: after
// that, at least as many must remain free for others as the key would then have. A key that takes
// all it can gets a half, and a second such key a half of the rest, or each gets a third if they
// alternate. So a key that has nothing yet finds something free, however many keys there are and
// whatever they do. Its first request is granted in any case if it is no larger than ordinary, even
// if fewer units would remain free. Fair needs no prior knowledge of the keys, and does not slow a
// key that is alone.
func Fair(own, all, n, maximum, ordinary int64) bool {
	return own+n <= maximum-all-n || own == 0 && n <= ordinary
}

// The division of a memory that keys share.
const (
	keyDivisor      = 256 // of the memory a key may have in any case
	setAsideDivisor = 8   // of the memory that is set aside for these parts
)

// Shared divides a memory of maximum bytes between keys. A key always has its own part, of the portion
// that is set aside for this purpose, and may have more of the rest as far as that is fair.
func Shared(maximum int64) Rule {
	return func(own, all, n int64) bool {
		return all+n <= maximum && (own+n <= maximum/keyDivisor || Fair(own, all, n, maximum-maximum/setAsideDivisor, 0))
	}
}

// MaxOfOneKey is the most that Shared(maximum) gives to one key if no other key has anything.
func MaxOfOneKey(maximum int64) int64 {
	return max(maximum/keyDivisor, (maximum-maximum/setAsideDivisor)/2)
}
