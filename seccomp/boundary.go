package seccomp

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
)

// topNumber ends the sweep of call numbers; the kernel's own numbers are below 500.
const topNumber = 1024

// BoundaryCalls yields the calls on which a filter made from any of profiles
// (which share an architecture) could differ from its model: every number from
// 0 to 1023, some above, -1, x32 and foreign ones; and for every condition its value,
// each value that differs from it in one bit, and garbage above bit 31 (SEC-03,
// SEC-08, SEC-09). For parts of a profile that answer cellinit's code differently,
// calls are also yielded with cellinit's mark and with values near it.
func BoundaryCalls(profiles ...Profile) iter.Seq[Call] {
	return func(yield func(Call) bool) {
		if len(profiles) == 0 {
			return
		}

		arch := profiles[0].Arch.OrNative()
		native := arch.Audit()
		for _, other := range []uint32{AMD64.Audit(), ARM64.Audit(), 0x40000003, 0x40000028, 0, ^uint32(0)} {
			for nr := int32(-1); nr < topNumber && other != native; nr++ {
				if !yield(Call{Nr: nr, Arch: other}) {
					return
				}
			}
		}

		numbers := boundaryNumbers()
		var marks []uint64
		if slices.ContainsFunc(profiles, func(p Profile) bool { return len(p.Setup) > 0 }) {
			marks = []uint64{SetupMark, SetupMark ^ 1, SetupMark ^ 1<<32, SetupMark ^ 1<<63, SetupMark & 0xffffffff,
				SetupMark &^ 0xffffffff}
		}

		groups := map[int32][][]ArgCond{} // the conditions of each rule on a call
		for _, p := range profiles {
			m := NewModel(p)
			for _, nr := range numbers {
				groups[nr] = append(groups[nr], m.groups(nr)...)
			}
		}

		maps.DeleteFunc(groups, func(_ int32, g [][]ArgCond) bool { return len(g) == 0 })
		limit := sampleBudget / max(len(groups), 20)
		for _, nr := range numbers {
			nth := 0
			for args := range boundaryArgs(groups[nr], limit) {
				if !yield(Call{Nr: nr, Arch: native, Args: args}) {
					return
				}

				for i, mark := range marks { // all marks for the first combinations, then one each in rotation
					if nth >= allMarks && i != nth%len(marks) {
						continue
					}
					args[5] = mark
					if !yield(Call{Nr: nr, Arch: native, Args: args}) {
						return
					}
				}

				nth++
			}
		}
	}
}

// allMarks is the number of combinations of one call that are tried with every mark: enough for all
// values of a rule that compares one register.
const allMarks = 16

// sampleBudget limits the combinations of one sweep, so that no profile can
// make the agent compute for minutes. The tiers need a tenth of it.
const sampleBudget = 500_000

func boundaryNumbers() []int32 {
	var out []int32
	for nr := int32(-1); nr < topNumber; nr++ {
		out = append(out, nr)
		if nr >= 0 {
			out = append(out, nr|X32Bit)
		}
	}
	return append(out, topNumber, 1<<16, 1<<24|1, X32Bit-1, -2, 1<<31-1, -1<<31)
}

// boundaryArgs yields every combination of interesting values of the registers
// that the rules compare; the other registers hold garbage. If there are more
// combinations than limit, it yields arguments that each rule matches, with one
// register varied at a time, and a fixed sample of the combinations.
func boundaryArgs(rules [][]ArgCond, limit int) iter.Seq[[6]uint64] {
	conds := slices.Concat(rules...)
	registers := map[uint]bool{}
	for _, c := range conds {
		registers[c.Index] = true
	}

	var values [6][]uint64
	product := 1
	for i := range values {
		values[i] = interesting(conds, uint(i), len(registers) <= 2)
		product = min(product*len(values[i]), limit+1)
	}

	if product > limit {
		return sampledArgs(rules, values, limit)
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

func sampledArgs(rules [][]ArgCond, values [6][]uint64, limit int) iter.Seq[[6]uint64] {
	return func(yield func([6]uint64) bool) {
		rng := rand.New(rand.NewPCG(1, 2)) // the same sample every time
		left := limit
		for _, rule := range rules {
			var match [6]uint64
			for i, v := range values {
				match[i] = v[rng.IntN(len(v))]
			}

			for _, c := range rule {
				match[c.Index] = c.Value
			}

			for i := range values {
				for _, v := range values[i] {
					args := match
					args[i] = v
					if left--; left < limit/2 {
						break
					}
					if !yield(args) {
						return
					}
				}
			}
		}

		for range limit / 2 {
			var args [6]uint64
			for i, v := range values {
				args[i] = v[rng.IntN(len(v))]
			}
			if !yield(args) {
				return
			}
		}
	}
}

// interesting returns the values worth trying in one register. flips adds every
// value that differs in one bit, which would be too many with three registers.
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
