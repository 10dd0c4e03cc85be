package load

import (
	"math/rand/v2"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// Entries that all allow form a union, whatever their order. This is checked for all
// combinations of small argument values, against the comparisons themselves.
func TestNotEqualsAreAUnion(t *testing.T) {
	const values = 4
	random := rand.New(rand.NewPCG(1, 2))
	read, allowed := 0, 0
	for range 400 {
		o := seccomp.OCI{DefaultAction: "SCMP_ACT_ERRNO",
			Syscalls: []seccomp.OCISyscall{{Names: []string{"execve", "exit_group"}, Action: "SCMP_ACT_ALLOW"}}}
		for range 1 + random.IntN(4) {
			op := []string{"SCMP_CMP_EQ", "SCMP_CMP_NE"}[random.IntN(2)]
			s := seccomp.OCISyscall{Names: []string{"socket"}, Action: "SCMP_ACT_ALLOW"}
			for _, index := range random.Perm(3)[:1+random.IntN(3)] {
				s.Args = append(s.Args, seccomp.OCIArg{Index: uint(index), Value: random.Uint64N(values), Op: op})
			}
			o.Syscalls = append(o.Syscalls, s)
		}

		p, err := Convert("x", o, nil)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}

		read++

		for n := range uint64(values * values * values) {
			args := []uint64{n % values, n / values % values, n / values / values}
			want := false
			for _, s := range o.Syscalls[1:] {
				all := true
				for _, a := range s.Args {
					all = all && (args[a.Index] == a.Value) == (a.Op == "SCMP_CMP_EQ")
				}
				want = want || all
			}

			if got := decide(p, "socket", args...) == seccomp.Allow(); got != want {
				t.Fatalf("%+v\nallows %v: %v; want %v\n%+v", o.Syscalls[1:], args, got, want, p.Rules)
			} else if got {
				allowed++
			}
		}
	}

	if read < 400 || allowed == 0 || allowed == read*values*values*values {
		t.Errorf("%d profiles were read, %d calls allowed: nothing was compared", read, allowed)
	}
}
