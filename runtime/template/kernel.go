package template

import (
	"bytes"
	"fmt"
	"os"
)

// Unsupported says why this kernel can begin no program from a template; empty: it can.
//
// On user-mode Linux 6.1 a short trial program ends well, and programs that do more get a signal
// (TPL-01 showed it; the cause is not known). That kernel names itself in /proc/cpuinfo
// (show_cpuinfo in arch/um/kernel/um_arch.c).
func Unsupported() (why string, err error) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", fmt.Errorf("which kernel this is: %w", err)
	}
	return unsupported(info), nil
}

func unsupported(cpuinfo []byte) string {
	if bytes.Contains(cpuinfo, []byte("User Mode Linux")) {
		return "user-mode Linux cannot begin programs from templates"
	}
	return ""
}
