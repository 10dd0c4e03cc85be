package bpf

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
)

// Offsets of the halves of the sixth argument in struct seccomp_data.
const (
	offMarkLow  = 16 + 8*5
	offMarkHigh = offMarkLow + 4
)

// answerSetup makes a filter answer the calls of Profile.Setup differently if cellinit's
// own code makes them (SetupMark). One check at the start serves all of these calls; as a
// libseccomp rule it would be repeated for each. For marked calls a wide part allows the
// call, and a last part applies its rules. For other calls a wide part applies its rules,
// and a last part allows everything.
//
// Only the named calls reach the check of the sixth argument. For the others the kernel
// sees that the filter always allows them, and does not run it (kernel/seccomp.c,
// seccomp_cache_prepare).
func answerSetup(raw []byte, p seccomp.Profile) ([]byte, error) {
	prog := make([]unix.SockFilter, len(raw)/8)
	if _, err := binary.Decode(raw, binary.LittleEndian, prog); err != nil {
		return nil, fmt.Errorf("read filter: %w", err)
	}

	var calls []uint32
	for _, name := range p.Setup {
		if nr, ok := seccomp.Number(name, p.Arch); ok {
			calls = append(calls, uint32(nr))
		}
	}

	allow, rules := end(unix.SECCOMP_RET_ALLOW), skip(0)
	there, elsewhere := allow, rules
	if p.Default == seccomp.Allow() {
		there, elsewhere = rules, allow
	}

	// The start ends with the two instructions elsewhere and there; the rules follow.
	end := []unix.SockFilter{
		load(offMarkHigh), jump(unix.BPF_JEQ, seccomp.SetupMark>>32, 0, 2),
		load(offMarkLow), jump(unix.BPF_JEQ, seccomp.SetupMark&0xffffffff, 1, 0),
		elsewhere, there,
	}

	const toElsewhere = 4 // index of elsewhere in end
	start := []unix.SockFilter{load(offArch), jump(unix.BPF_JEQ, p.Arch.Audit(), 1, 0),
		skip(uint32(len(calls) + 2 + toElsewhere)), load(offNr)}
	for i, nr := range calls {
		start = append(start, jump(unix.BPF_JEQ, nr, uint8(len(calls)-i), 0))
	}

	start = append(start, skip(toElsewhere))
	start = append(start, end...)
	if at := len(start) - 2; start[at] == rules { // elsewhere goes to the rules: skip the instruction "there"
		start[at] = skip(1)
	}
	return binary.Append(nil, binary.LittleEndian, append(start, prog...))
}

func skip(n uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: n}
}
