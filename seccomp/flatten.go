package seccomp

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// An Op compares one argument in a flat rule.
type Op string

// The comparisons of flat rules, which libraries support. NotEqual is made by Flatten
// only: files cannot contain it.
const (
	Equal       Op = "=="
	NotEqual    Op = "!="
	MaskedEqual Op = "&=="
)

// A Cond is one comparison of a flat rule.
type Cond struct {
	Index uint
	Op    Op
	Value uint64
	Mask  uint64 // with MaskedEqual
}

// A FlatRule answers one call by number. Flat rules need no order: no two with
// different answers match the same arguments, and none equals the default. The
// one exception is a call compared by Equal on one argument only, with a single
// NotEqual after the equals for all other values.
type FlatRule struct {
	Nr    int32
	Name  string
	Conds []Cond
	Answer
}

// ErrTooComplex is returned for a profile whose rules on one call cannot be made
// exclusive in a form that libseccomp compiles in bounded time. Its time to
// add a rule doubles with each masked one on several registers; and two or three
// masked or not-equal rules that compare different sets of registers made
// libseccomp 2.5.4 run for ever (FuzzCompile), which nothing could stop in the
// agent.
var ErrTooComplex = errors.New("rules are too complex")

// Limits: of the exclusive rules of one call (maxPieces); of those with masks or
// not-equals that compare more than one register (maxOther, maxUnequal); and of the
// conditions of a whole profile (maxConditions; 2,400 took libseccomp 20 s). The tiers
// need 24, 3 and 130.
const (
	maxPieces     = 200
	maxOther      = 16
	maxUnequal    = 8 // maxOther if one is a not-equal: 16 took libseccomp 2.5.4 over 30 s
	maxConditions = 500
)

// Flatten returns p as exclusive rules for libraries that have neither an order of
// rules nor a fallback per call: libseccomp and everything above it. The result is
// equivalent to p for all arguments.
func Flatten(p Profile) ([]FlatRule, error) {
	var out []FlatRule
	conditions := 0
	for _, name := range namesOf(p) {
		nr, ok := Number(name, p.Arch)
		if !ok {
			continue
		}

		first := len(out)
		flat, err := flattenCall(rulesFor(p.Rules, name), p.Default)
		if err != nil {
			return nil, fmt.Errorf("rules for %s: %w; compare fewer values, or give refusals the default's answer", name, err)
		}

		for _, f := range flat {
			f.Nr, f.Name = nr, name
			if !slices.ContainsFunc(out[first:], f.equal) {
				out = append(out, f)
				conditions += len(f.Conds)
			}
		}

		if conditions > maxConditions {
			return nil, fmt.Errorf("more than %d conditions: %w", maxConditions, ErrTooComplex)
		}
	}

	return out, nil
}

func (f FlatRule) equal(g FlatRule) bool {
	return f.Nr == g.Nr && f.Answer == g.Answer && slices.Equal(f.Conds, g.Conds)
}

// flattenCall makes the rules of one call exclusive: each result matches what its rule
// matches and no earlier rule with another answer matches.
func flattenCall(rules []Rule, def Answer) ([]FlatRule, error) {
	ordered := precedence(rules)

	// An unconditional rule comes last. If it is the first, it is the only one that has an effect.
	if len(ordered) > 0 && len(ordered[0].Args) == 0 {
		if ordered[0].Answer == def {
			return nil, nil
		}
		return []FlatRule{{Answer: ordered[0].Answer}}, nil
	}

	var out []FlatRule
	for i, r := range ordered {
		if r.Answer == def {
			continue
		}

		pieces := []cube{cubeOf(r.Args)}
		for _, earlier := range ordered[:i] {
			if earlier.Answer != r.Answer {
				pieces = subtractAll(pieces, earlier.Args)
			}

			// Each earlier rule may multiply the pieces, so the bound is checked after each.
			if len(pieces) > maxPieces {
				return nil, ErrTooComplex
			}
		}

		// The forms are tried from the fewest rules to the most: spread makes up to 64 for each excluded
		// value.
		for _, c := range pieces {
			if conds, ok := c.conds(); ok {
				out = append(out, FlatRule{Conds: conds, Answer: r.Answer})
				continue
			}
			if f, ok := lastOfChain(ordered[:i], c, r.Answer, def); ok {
				out = append(out, f)
				continue
			}
			if c.inexpressible() > 1 {
				return nil, ErrTooComplex // spread would make 64 cubes per value for each register, multiplied
			}

			for _, part := range c.spread() {
				conds, _ := part.conds()
				out = append(out, FlatRule{Conds: conds, Answer: r.Answer})
			}
		}

		if len(out) > maxPieces || !tractable(out) {
			return nil, ErrTooComplex
		}
	}

	return out, nil
}

// tractable reports whether libseccomp is known to compile the rules of one call in
// bounded time: if all conditions are Equal, or all but those of one rule, which has
// masks; if all rules compare one and the same register; or if all compare the same
// registers and only a few use other comparisons than Equal.
func tractable(flat []FlatRule) bool {
	other, maximum, same := 0, maxOther, true
	for _, f := range flat {
		same = same && slices.EqualFunc(f.Conds, flat[0].Conds, func(a, b Cond) bool { return a.Index == b.Index })
		if slices.ContainsFunc(f.Conds, func(c Cond) bool { return c.Op != Equal }) {
			other++
		}
		if slices.ContainsFunc(f.Conds, func(c Cond) bool { return c.Op == NotEqual }) {
			maximum = maxUnequal
		}
	}
	return other == 0 || other == 1 && maximum == maxOther || same && (len(flat[0].Conds) == 1 || other <= maximum)
}

// precedence orders the rules of one call as documented at Profile. It drops
// unconditional rules after the first, and allow rules whose arguments would be allowed
// without them.
func precedence(rules []Rule) []Rule {
	var allow, other, plain []Rule
	for _, r := range rules {
		switch {
		case len(r.Args) == 0:
			plain = append(plain, r)
		case r.Action == ActAllow:
			allow = append(allow, r)
		default:
			other = append(other, r)
		}
	}

	plain = plain[:min(len(plain), 1)]
	allow = slices.DeleteFunc(allow, func(r Rule) bool {
		return len(plain) == 1 && r.Answer == plain[0].Answer &&
			!slices.ContainsFunc(other, func(o Rule) bool { return overlap(r.Args, o.Args) })
	})
	ordered := slices.Concat(allow, other, plain)
	if len(plain) == 1 && !slices.ContainsFunc(ordered, func(r Rule) bool { return r.Answer != plain[0].Answer }) {
		return plain
	}
	return ordered
}

// lastOfChain expresses "none of these values" as a not-equal on the smallest of
// them. libseccomp compares the equals of one argument in descending order and
// merges the not-equal into the last, so the chain ends in the answer. libseccomp
// 2.5 and 2.6 behave so but do not guarantee it: Compile therefore compares the
// result with the model.
func lastOfChain(earlier []Rule, c cube, a, def Answer) (FlatRule, bool) {
	var index uint
	minimum := ^uint64(0)
	for i, r := range earlier {
		if len(r.Args) != 1 || r.Args[0].mask() != ^uint64(0) || r.Args[0].Value > 1<<32-1 || r.Answer == def {
			return FlatRule{}, false
		}
		if i > 0 && r.Args[0].Index != index {
			return FlatRule{}, false
		}
		index = r.Args[0].Index
		minimum = min(minimum, r.Args[0].Value)
	}

	for i, k := range c {
		if uint(i) != index && (k.mask != 0 || len(k.not) > 0) || uint(i) == index && k.mask != 0 {
			return FlatRule{}, false
		}
	}

	return FlatRule{Conds: []Cond{{Index: index, Op: NotEqual, Value: minimum}}, Answer: a}, true
}

// A cube is a set of arguments: for each register the bits that are fixed, and whole
// values that are excluded.
type cube [6]fixed

type fixed struct {
	mask, value uint64
	not         []uint64
}

func cubeOf(conds []ArgCond) cube {
	var c cube
	for _, k := range conds {
		c[k.Index] = fixed{mask: k.mask(), value: k.Value}
	}
	return c
}

// subtractAll returns the pieces without the arguments that conds match.
func subtractAll(pieces []cube, conds []ArgCond) []cube {
	var out []cube
	for _, c := range pieces {
		out = append(out, c.subtract(conds)...)
	}
	return out
}

// subtract returns c without the arguments that conds match: c and not the first
// condition, or c and not the second, and so on. The pieces may overlap; their
// answer is the same.
func (c cube) subtract(conds []ArgCond) []cube {
	var out []cube
	for _, k := range conds {
		f := c[k.Index]
		if (f.value^k.Value)&f.mask&k.mask() != 0 || slices.Contains(f.not, k.Value) && k.mask() == ^uint64(0) {
			return []cube{c} // conds match nothing in c
		}
	}

	for _, k := range conds {
		f := c[k.Index]
		free := k.mask() &^ f.mask
		if k.mask() == ^uint64(0) && free != 0 {
			piece := c
			piece[k.Index].not = append(slices.Clone(f.not), k.Value)
			out = append(out, piece)
			continue
		}

		for ; free != 0; free &= free - 1 {
			bit := free & -free
			piece, ok := c.fix(k.Index, bit, ^k.Value&bit)
			if ok {
				out = append(out, piece)
			}
		}
	}

	return out
}

// fix returns c with one more bit fixed, and false if the result is empty.
func (c cube) fix(index uint, bit, value uint64) (cube, bool) {
	f := c[index]
	g := fixed{mask: f.mask | bit, value: f.value | value}
	for _, n := range f.not {
		if n&g.mask == g.value {
			g.not = append(g.not, n)
		}
	}
	c[index] = g
	return c, g.mask != ^uint64(0) || len(g.not) == 0
}

// conds returns c as the comparisons of one rule, if one rule can express it.
func (c cube) conds() ([]Cond, bool) {
	var out []Cond
	for i, f := range c {
		index := uint(i)
		switch {
		case len(f.not) == 1 && f.mask == 0:
			out = append(out, Cond{Index: index, Op: NotEqual, Value: f.not[0]})
		case len(f.not) > 0:
			return nil, false
		case f.mask == ^uint64(0):
			out = append(out, Cond{Index: index, Op: Equal, Value: f.value})
		case f.mask != 0:
			out = append(out, Cond{Index: index, Op: MaskedEqual, Value: f.value, Mask: f.mask})
		}
	}

	return out, true
}

// inexpressible counts the registers whose excluded values no comparison can express.
func (c cube) inexpressible() int {
	n := 0
	for _, f := range c {
		if len(f.not) > 1 || len(f.not) == 1 && f.mask != 0 {
			n++
		}
	}
	return n
}

// spread expresses the excluded values of c by fixed bits, from the top: up to 64
// cubes for each value.
func (c cube) spread() []cube {
	for i, f := range c {
		if len(f.not) == 0 || len(f.not) == 1 && f.mask == 0 {
			continue
		}
		bit := uint64(1) << (63 - bits.LeadingZeros64(^f.mask))
		var out []cube
		for _, v := range []uint64{0, bit} {
			if half, ok := c.fix(uint(i), bit, v); ok {
				out = append(out, half.spread()...)
			}
		}
		return out
	}

	return []cube{c}
}
