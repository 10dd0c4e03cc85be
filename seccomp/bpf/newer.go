package bpf

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/seccomp"
)

// Offsets in struct seccomp_data.
const (
	offNr   = 0
	offArch = 4
)

// answerNewer makes a filter answer ENOSYS to numbers above the tables. No rule of
// libseccomp can express that: it compares numbers for equality only.
//
// A filter of libseccomp checks the architecture, on amd64 then the x32 bit, and then
// the rules. answerNewer replaces this start by one that first checks whether the
// number is newer, and makes the other checks for newer numbers only. So a known call
// needs no additional step on amd64, and one step less where the rules are a tree, which
// would load the number again; on arm64 it needs one more. The removed instructions
// were reachable only from the old start.
func answerNewer(raw []byte, p seccomp.Profile) ([]byte, error) {
	arch := p.Arch
	prog := make([]unix.SockFilter, len(raw)/8)
	if _, err := binary.Decode(raw, binary.LittleEndian, prog); err != nil {
		return nil, fmt.Errorf("read filter: %w", err)
	}

	const minusOne = ^uint32(0) // goes to the rules: a tracer skips a call with this number
	var (
		newest  = uint32(seccomp.Newest(arch))
		enosys  = end(unix.SECCOMP_RET_ERRNO | uint32(seccomp.ENOSYS))
		foreign = end(unix.SECCOMP_RET_USER_NOTIF)
		start   []unix.SockFilter
	)

	if p.Log {
		enosys = foreign
	}

	if arch.OrNative() == seccomp.AMD64 {
		start = []unix.SockFilter{
			load(offArch), jump(unix.BPF_JEQ, arch.Audit(), 0, 5), // else foreign
			load(offNr), jump(unix.BPF_JGT, newest, 0, 4), // else the rules
			jump(unix.BPF_JGE, seccomp.X32Bit, 0, 1), // else enosys
			jump(unix.BPF_JEQ, minusOne, 2, 1),       // the rules, else foreign
			enosys, foreign,
		}
	} else {
		start = []unix.SockFilter{
			load(offArch), jump(unix.BPF_JEQ, arch.Audit(), 0, 4), // else foreign
			load(offNr), jump(unix.BPF_JGT, newest, 0, 3), // else the rules
			jump(unix.BPF_JEQ, minusOne, 2, 0), // the rules, else enosys
			enosys, foreign,
		}
	}

	return binary.Append(nil, binary.LittleEndian, append(start, prog[rulesAt(prog, arch):]...))
}

// rulesAt returns where prog continues after it has established that the architecture
// is arch and the number is not an x32 number.
func rulesAt(prog []unix.SockFilter, arch seccomp.Arch) int {
	at := 0
	for at < len(prog) {
		switch in := prog[at]; in {
		case load(offArch), load(offNr):
			at++
		case jump(unix.BPF_JEQ, arch.Audit(), in.Jt, in.Jf):
			at += 1 + int(in.Jt)
		case jump(unix.BPF_JGE, seccomp.X32Bit, in.Jt, in.Jf):
			at += 1 + int(in.Jf)
		default:
			return at
		}
	}

	return at
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jump(compare uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func end(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}
