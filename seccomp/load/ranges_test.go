package load

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// inRange is what libseccomp documents: a comparison of all 64 bits, without sign.
func inRange(op string, arg, value uint64) bool {
	switch op {
	case "SCMP_CMP_EQ":
		return arg == value
	case "SCMP_CMP_LT":
		return arg < value
	case "SCMP_CMP_LE":
		return arg <= value
	case "SCMP_CMP_GT":
		return arg > value
	default:
		return arg >= value
	}
}

var rangeOps = []string{"SCMP_CMP_LT", "SCMP_CMP_LE", "SCMP_CMP_GT", "SCMP_CMP_GE"}

// The blocks of a comparison are exactly its values: each value near a border of a block, of
// the comparison and of the two halves of an argument is in one block, or in none.
func TestBlocksAreTheRange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := []uint64{0, 1, 2, 3, 45, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 63, ^uint64(0) - 1, ^uint64(0)}
	for range 500 {
		values = append(values, random.Uint64()>>random.IntN(64))
	}

	for _, op := range rangeOps {
		for _, v := range values {
			blocks, err := blocksOf(op, v)
			if err != nil {
				if in0, in1 := inRange(op, 0, v), inRange(op, ^uint64(0), v); in0 != in1 {
					t.Errorf("%s %d: %v", op, v, err)
				}
				continue
			}
			if len(blocks) > 64 {
				t.Errorf("%s %d: %d blocks; at most 64", op, v, len(blocks))
			}

			probes := append([]uint64{v, v - 1, v + 1, v ^ 1<<32, v ^ 1<<63, random.Uint64()}, values...)
			for _, b := range blocks {
				probes = append(probes, b.value, b.value-1, b.value|^b.mask, (b.value|^b.mask)+1)
				if size := ^b.mask + 1; size != 0 && bits.OnesCount64(size) != 1 || b.value&^b.mask != 0 {
					t.Errorf("%s %d: %x is no aligned block", op, v, b)
				}
			}

			for _, arg := range probes {
				in := 0
				for _, b := range blocks {
					if arg&b.mask == b.value {
						in++
					}
				}

				want := 0
				if inRange(op, arg, v) {
					want = 1
				}
				if in != want {
					t.Fatalf("%s %d: %d is in %d blocks; want %d of %x", op, v, arg, in, want, blocks)
				}
			}
		}
	}
}

// Entries with ranges and equals on several arguments allow what libseccomp's own comparisons
// allow: all combinations of small arguments are compared.
func TestRangesOfSeveralArguments(t *testing.T) {
	const values = 6
	random := rand.New(rand.NewPCG(3, 4))
	valid, allowed, refused := 0, 0, 0
	for range 300 {
		o := seccomp.OCI{DefaultAction: "SCMP_ACT_ERRNO",
			Syscalls: []seccomp.OCISyscall{{Names: []string{"execve", "exit_group"}, Action: "SCMP_ACT_ALLOW"}}}
		for range 1 + random.IntN(3) {
			s := seccomp.OCISyscall{Names: []string{"socket"}, Action: "SCMP_ACT_ALLOW"}
			for _, index := range random.Perm(3)[:1+random.IntN(2)] {
				op := append(slices.Clone(rangeOps[:2]), "SCMP_CMP_EQ")[random.IntN(3)]
				s.Args = append(s.Args, seccomp.OCIArg{Index: uint(index), Value: 1 + random.Uint64N(values-1), Op: op})
			}
			o.Syscalls = append(o.Syscalls, s)
		}

		p, err := Convert("x", o, nil)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		if seccomp.Validate(p) == nil {
			valid++
		}

		for n := range uint64(values * values * values) {
			args := []uint64{n % values, n / values % values, n / values / values}
			want := slices.ContainsFunc(o.Syscalls[1:], func(s seccomp.OCISyscall) bool {
				return !slices.ContainsFunc(s.Args, func(a seccomp.OCIArg) bool { return !inRange(a.Op, args[a.Index], a.Value) })
			})
			if got := decide(p, "socket", args...) == seccomp.Allow(); got != want {
				t.Fatalf("%+v\nallows %v: %v; want %v\n%+v", o.Syscalls[1:], args, got, want, p.Rules)
			} else if got {
				allowed++
			} else {
				refused++
			}
		}
	}

	if valid == 0 || allowed == 0 || refused == 0 {
		t.Errorf("%d profiles can be used, %d calls are allowed and %d refused: nothing was compared", valid, allowed, refused)
	}
}

// A refusal by range holds for all 64 bits, as the file says, and a not-equal on the same call
// leaves what a range answers alone.
func TestRangesWithOtherAnswers(t *testing.T) {
	enosys := uint(38)
	o := seccomp.OCI{DefaultAction: "SCMP_ACT_ERRNO", Syscalls: []seccomp.OCISyscall{
		{Names: []string{"execve", "exit_group"}, Action: "SCMP_ACT_ALLOW"},
		{Names: []string{"personality"}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &enosys,
			Args: []seccomp.OCIArg{{Index: 0, Value: 5, Op: "SCMP_CMP_GE"}}},
		{Names: []string{"socket"}, Action: "SCMP_ACT_ALLOW", Args: []seccomp.OCIArg{{Index: 0, Value: 3, Op: "SCMP_CMP_LT"}}},
		{Names: []string{"socket"}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &enosys, Args: []seccomp.OCIArg{{Index: 0, Value: 1, Op: "SCMP_CMP_NE"}}},
	}}

	p, err := Convert("x", o, nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		call string
		arg  uint64
		want seccomp.Answer
	}{
		{"personality", 4, seccomp.Fail(seccomp.EPERM)},
		{"personality", 5, seccomp.Fail(seccomp.ENOSYS)},
		{"personality", 1 << 40, seccomp.Fail(seccomp.ENOSYS)},
		{"personality", ^uint64(0), seccomp.Fail(seccomp.ENOSYS)},
		{"socket", 1, seccomp.Allow()},
		{"socket", 2, seccomp.Allow()},
		{"socket", 3, seccomp.Fail(seccomp.ENOSYS)},
		{"socket", 1<<32 + 1, seccomp.Fail(seccomp.ENOSYS)},
	} {
		if got := decide(p, tt.call, tt.arg); got != tt.want {
			t.Errorf("%s(%#x): %v; want %v", tt.call, tt.arg, got, tt.want)
		}
	}
}

// What a few lines of a file become has bounds.
func TestRangesAreBounded(t *testing.T) {
	long := func(index uint) seccomp.OCIArg {
		return seccomp.OCIArg{Index: index, Value: ^uint64(0) >> 1, Op: "SCMP_CMP_LT"} // 63 blocks
	}
	head := []seccomp.OCISyscall{{Names: []string{"execve", "exit_group"}, Action: "SCMP_ACT_ALLOW"}}
	one := seccomp.OCISyscall{Names: []string{"socket"}, Action: "SCMP_ACT_ALLOW", Args: []seccomp.OCIArg{long(0)}}
	two := seccomp.OCISyscall{Names: []string{"socket"}, Action: "SCMP_ACT_ALLOW", Args: []seccomp.OCIArg{long(0), long(1)}}
	for _, tt := range []struct {
		what    string
		entries []seccomp.OCISyscall
		want    string // "" is no error
	}{
		{"one of 63 blocks", []seccomp.OCISyscall{one}, ""},
		{"two arguments", []seccomp.OCISyscall{two}, "make more than 64 rules of one entry"},
		{"many entries", slices.Repeat([]seccomp.OCISyscall{one}, 17), "syscalls[17]: less-than and greater-than " +
			"make more than 1024 rules"},
	} {
		_, err := Convert("x", seccomp.OCI{DefaultAction: "SCMP_ACT_ERRNO", Syscalls: append(slices.Clone(head), tt.entries...)}, nil)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.what, err, tt.want)
		}
	}
}
