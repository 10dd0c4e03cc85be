package template

import (
	"bytes"
	"fmt"
	"os"
)

// Unsupported says why this kernel can begin no program from a template; empty: it can.
//
// User-mode Linux executes the file, but programs that begin from it crash: a process of user-mode
// Linux is a process of the host, which maps memory into it that restore does not know. That kernel
// names itself in /proc/cpuinfo (show_cpuinfo in arch/um/kernel/um_arch.c).
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
