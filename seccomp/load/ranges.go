package load

import (
	"fmt"

	"github.com/brig-sandbox/brig/seccomp"
)

// Limits of what less-than and greater-than become: of one entry, whose ranges on several
// arguments multiply, and of all entries of a file. One comparison is at most 64 rules.
const (
	maxRanges    = 64
	maxAllRanges = 1024
)

// A block is all values that agree with value in the bits of mask: 2^n values that begin
// at a multiple of 2^n.
type block struct{ value, mask uint64 }

// blocksOf returns the values that satisfy a comparison by range, as blocks that do not
// overlap. Our rules compare masked bits only, and a range is such blocks exactly: no
// filter compares the halves of an argument for less-than (CVE-2019-9893).
func blocksOf(op string, value uint64) ([]block, error) {
	const maximum = ^uint64(0)
	first, last := uint64(0), maximum
	all, none := false, false
	switch op {
	case "SCMP_CMP_LT":
		none, last = value == 0, value-1
	case "SCMP_CMP_LE":
		all, last = value == maximum, value
	case "SCMP_CMP_GT":
		none, first = value == maximum, value+1
	case "SCMP_CMP_GE":
		all, first = value == 0, value
	}

	switch {
	case none:
		return nil, fmt.Errorf("%s %d matches no value: leave the entry out", op, value)
	case all:
		return nil, fmt.Errorf("%s %d matches every value: leave the condition out", op, value)
	}

	var out []block
	for {
		rest := uint64(0) // the bits that differ within the largest block that begins at first
		for more := rest<<1 | 1; first&more == 0 && last-first >= more; more = more<<1 | 1 {
			rest = more
		}
		out = append(out, block{first, ^rest})
		if last-first == rest {
			return out, nil
		}
		first += rest + 1
	}
}

// times returns rules that match what r matches if in addition the argument has a value of
// one of blocks.
func times(rules []seccomp.Rule, index uint, blocks []block) ([]seccomp.Rule, error) {
	if len(rules)*len(blocks) > maxRanges {
		return nil, fmt.Errorf("less-than and greater-than on several arguments make more than %d rules of one "+
			"entry: list the values with SCMP_CMP_EQ", maxRanges)
	}

	var out []seccomp.Rule
	for _, r := range rules {
		for _, b := range blocks {
			k := seccomp.ArgCond{Index: index, Value: b.value, Mask: b.mask}
			if b.mask == ^uint64(0) && r.Action == seccomp.ActAllow {
				k.Mask = 0 // as for SCMP_CMP_EQ
			}
			more := r
			more.Args = append(append([]seccomp.ArgCond(nil), r.Args...), k)
			out = append(out, more)
		}
	}

	return out, nil
}
