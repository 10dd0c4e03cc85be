// Package seccomptest makes random profiles for tests of code that accepts any profile.
package seccomptest

import (
	"math/rand/v2"
	"strings"

	"github.com/brig-sandbox/brig/seccomp"
)

// Random returns a small profile of random rules, for tests that compare
// compilers with the model. It need not pass Lint: overlapping rules are the
// interesting cases.
func Random(rng *rand.Rand) seccomp.Profile {
	names := strings.Fields("ioctl fcntl prctl mmap socket clone kill prlimit64 sendmsg madvise")
	answers := []seccomp.Answer{
		seccomp.Allow(), seccomp.Allow(), seccomp.Fail(seccomp.EPERM), seccomp.Fail(seccomp.ENOSYS),
		seccomp.Fail(seccomp.ENOTTY), seccomp.Kill(), {Action: seccomp.ActLog},
	}
	p := seccomp.Profile{Name: "random", Default: answers[2+rng.IntN(len(answers)-2)]}
	for range 1 + rng.IntN(12) {
		r := seccomp.Rule{Names: []string{names[rng.IntN(len(names))]},
			Answer: answers[rng.IntN(len(answers))], Why: "chance"}
		for _, index := range rng.Perm(6)[:rng.IntN(3)] {
			r.Args = append(r.Args, randomCond(rng, uint(index)))
		}
		p.Rules = append(p.Rules, r)
	}

	return p
}

func randomCond(rng *rand.Rand, index uint) seccomp.ArgCond {
	values := []uint64{0, 1, 2, 3, 5, 0x5412, 0x7e020000, 1 << 31, 1 << 32, 1<<32 | 1, 1 << 63, ^uint64(0)}
	masks := []uint64{0, 0, 1, 3, 0xffffffff, 0x7e020000, ^uint64(0x80800), 1<<32 | 1, 0xff << 28}
	c := seccomp.ArgCond{Index: index, Mask: masks[rng.IntN(len(masks))]}
	c.Value = values[rng.IntN(len(values))]
	if c.Mask != 0 {
		c.Value &= c.Mask
	}
	return c
}
