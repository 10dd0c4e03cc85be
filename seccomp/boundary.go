package seccomp

import (
	"iter"
	"slices"
)

// topNumber ends the sweep of call numbers; the kernel's own stand below 500.
const topNumber = 1024

// BoundaryCalls yields the calls on which a filter made from any of profiles
// (which share an architecture) could differ from its model: every number from
// 0 to 1023, -1, x32 and foreign ones; and for every condition its value, each
// neighbour of it by one bit, and garbage above bit 31 (SEC-03, SEC-08,
// SEC-09).
func BoundaryCalls(profiles ...Profile) iter.Seq[Call] {
	return func(yield func(Call) bool) {
		if len(profiles) == 0 {
			return
		}
		arch := profiles[0].Arch.Or()
		native := arch.Audit()
		for _, other := range []uint32{AMD64.Audit(), ARM64.Audit(), 0x40000003, 0x40000028, 0, ^uint32(0)} {
			for nr := int32(-1); nr < topNumber && other != native; nr++ {
				if !yield(Call{Nr: nr, Arch: other}) {
					return
				}
			}
		}
		var models []*Model
		for _, p := range profiles {
			models = append(models, NewModel(p))
		}
		for _, nr := range boundaryNumbers() {
			var conds []ArgCond
			for _, m := range models {
				conds = append(conds, m.conditions(nr)...)
			}
			for args := range boundaryArgs(conds) {
				if !yield(Call{Nr: nr, Arch: native, Args: args}) {
					return
				}
			}
		}
	}
}

func boundaryNumbers() []int32 {
	var out []int32
	for nr := int32(-1); nr < topNumber; nr++ {
		out = append(out, nr)
		if nr >= 0 {
			out = append(out, nr|X32Bit)
		}
	}
	return append(out, -2, X32Bit-1, 1<<31-1, -1<<31)
}

// boundaryArgs yields every combination of interesting values of the registers
// that conds compare; the others hold garbage.
func boundaryArgs(conds []ArgCond) iter.Seq[[6]uint64] {
	registers := map[uint]bool{}
	for _, c := range conds {
		registers[c.Index] = true
	}
	var values [6][]uint64
	for i := range values {
		values[i] = interesting(conds, uint(i), len(registers) <= 2)
	}
	return func(yield func([6]uint64) bool) {
		var at [6]int
		for {
			var args [6]uint64
			for i := range args {
				args[i] = values[i][at[i]]
			}
			if !yield(args) {
				return
			}
			i := 0
			for ; i < 6; i++ {
				if at[i]++; at[i] < len(values[i]) {
					break
				}
				at[i] = 0
			}
			if i == 6 {
				return
			}
		}
	}
}

// interesting returns the values worth trying in one register; flips adds every
// neighbour by one bit, which three registers at once would make too many.
func interesting(conds []ArgCond, index uint, flips bool) []uint64 {
	const garbage = 0xdeadbeef_cafef00d
	var mine []ArgCond
	for _, c := range conds {
		if c.Index == index {
			mine = append(mine, c)
		}
	}
	if len(mine) == 0 {
		return []uint64{garbage}
	}
	out := []uint64{0, garbage, 0xffffffff, ^uint64(0)}
	for _, c := range mine {
		low, high := c.Value&0xffffffff, c.Value>>32
		out = append(out, c.Value, c.Value|^c.mask(), c.Value|1<<32, c.Value|1<<63, low<<32|high,
			low, high<<32, c.Value+1, c.Value-1, c.Value|0xffffffff<<32)
		if flips && len(mine) <= 8 {
			for bit := uint64(1); bit != 0; bit <<= 1 {
				out = append(out, c.Value^bit)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
