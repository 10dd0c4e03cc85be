package bpf

import (
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// checkFamilies checks SEC-19: no family but AF_UNIX pairs, of streams and packets.
func checkFamilies(t *testing.T, name string, model *seccomp.Model, p seccomp.Profile, parts [][]byte) {
	t.Helper()

	for family := uint64(0); family < 64; family++ {
		for kind := uint64(0); kind < 16; kind++ {
			socket := seccomp.Call{Nr: 41, Arch: p.Arch.Audit(), Args: [6]uint64{family, kind}}
			pair := seccomp.Call{Nr: 53, Arch: p.Arch.Audit(), Args: [6]uint64{family, kind}}
			open := family == 1 && (name != "strict" && kind == 1 || name == "compile" && kind == 5) // no datagrams: NS-06
			want := seccomp.Fail(seccomp.EAFNOSUPPORT)
			switch {
			case name == "network" && family == 2 && (kind == 1 || kind == 2):
				want = seccomp.Allow() // TCP and UDP over IPv4, in a network namespace of the run's own
			case name == "network" && family == 16 && kind == 3:
				want = seccomp.Count() // the interfaces of that namespace (MEM-45)
			case name == "network" && (family != 10 || kind != 1 && kind != 2): // IPv6 has the answer of a kernel without it
				want = seccomp.Fail(seccomp.EPERM)
			}

			if got := finalAnswer(model, socket, answer(t, socket, parts...)); got != want {
				t.Errorf("%s: socket(%d, %d): %s", name, family, kind, got)
			}
			if got := answer(t, pair, parts...); (got == seccomp.Allow()) != open {
				t.Errorf("%s: socketpair(%d, %d): %s", name, family, kind, got)
			}
		}
	}
}
