package seccomp

import (
	"fmt"
	goruntime "runtime"
	"slices"
)

// An Arch names an architecture in Go's spelling. The zero value is the
// architecture that this binary was built for.
type Arch string

// The architectures that have tables. Neither has a compatibility ABI here:
// i386, x32 and 32-bit arm calls are foreign and get the kill answer (SEC-04,
// SEC-05).
const (
	AMD64 Arch = "amd64"
	ARM64 Arch = "arm64"
)

// X32Bit marks a call of the x32 ABI on amd64 (arch/x86/include/uapi/asm/unistd.h).
const X32Bit = 0x40000000

// OrNative returns a, or the architecture this binary was built for when a is zero.
func (a Arch) OrNative() Arch {
	if a == "" {
		return Arch(goruntime.GOARCH)
	}
	return a
}

// Audit returns the AUDIT_ARCH token that seccomp_data carries for a
// (include/uapi/linux/audit.h), or 0 for an architecture without a table.
func (a Arch) Audit() uint32 {
	switch a.OrNative() {
	case AMD64:
		return 0xc000003e
	case ARM64:
		return 0xc00000b7
	}
	return 0
}

// table returns the system call names of a, indexed by number.
func (a Arch) table() []string {
	switch a.OrNative() {
	case AMD64:
		return amd64Calls[:]
	case ARM64:
		return arm64Calls[:]
	}
	return nil
}

// Name returns the name of call nr, or "" when the tables do not know it. An
// x32 number has no name: it is not the call of the same low bits.
func Name(nr int32, arch Arch) string {
	t := arch.table()
	if nr < 0 || int(nr) >= len(t) {
		return ""
	}
	return t[nr]
}

// Newest returns the highest call number that the table of arch has.
func Newest(arch Arch) int32 { return int32(len(arch.table()) - 1) }

// isNewer reports whether nr is above the table of arch. -1 is not: a tracer uses it
// to skip a call.
func isNewer(nr int32, arch Arch) bool {
	return nr != -1 && uint32(nr) > uint32(Newest(arch))
}

func newerWhy(arch Arch) string {
	return fmt.Sprintf("newer than the last known call, %d of %s; libraries fall back after ENOSYS and treat any "+
		"other error as an error of the call itself", Newest(arch), arch.OrNative())
}

// Number returns the number of the named call, and whether arch has it.
func Number(name string, arch Arch) (int32, bool) {
	if name == "" {
		return 0, false
	}
	i := slices.Index(arch.table(), name)
	return int32(i), i >= 0
}

// numbers returns the inverse of arch's table: numbers by name.
func numbers(arch Arch) map[string]int32 {
	t := arch.table()
	m := make(map[string]int32, len(t))
	for nr, name := range t {
		if name != "" {
			m[name] = int32(nr)
		}
	}
	return m
}
