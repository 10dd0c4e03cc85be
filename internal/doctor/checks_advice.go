package doctor

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// timingChecks checks for causes of varying run times. None of them is a failure.
func timingChecks(f Facts) []Check {
	n := f.Noise
	governors := strings.Join(n.Governors, " ")
	return []Check{
		newCheck("timing: smt", n.SMT != "1", Warn, orNone(map[string]string{"1": "on", "0": "off"}[n.SMT]),
			"other work on the same core changes the speed of a program",
			"echo off > /sys/devices/system/cpu/smt/control, or keep one slot per core"),
		newCheck("timing: governor", governors == "" || governors == "performance", Warn, orNone(governors),
			"the clock follows the load", "cpupower frequency-set -g performance"),
		newCheck("timing: turbo", n.Turbo != "on", Warn, orNone(n.Turbo),
			"the clock follows the temperature", "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 > cpufreq/boost"),
		newCheck("timing: huge pages", n.THP != "always", Warn, orNone(n.THP),
			"memory use depends on how the host's memory is split",
			"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
		newCheck("timing: load", n.Load < float64(f.Processors), Warn,
			fmt.Sprintf("%.2f on %d processors", n.Load, f.Processors),
			"runs wait for a processor", "keep other work off the machine"),
		newCheck("timing: swap", f.Cgroups == nil ||
			!f.Cgroups.SwapOn, Warn, map[bool]string{true: "on", false: "off"}[f.Cgroups != nil && f.Cgroups.SwapOn],
			"the agent's own pages may be on disk", "swapoff -a"),
	}
}

func orNone(s string) string {
	if s == "" {
		return "not shown by this kernel"
	}
	return s
}

// modprobe checks for a host program that the kernel starts when a run executes a file of an
// unknown format.
func modprobe(f Facts) Check {
	helper := f.Sysctls["kernel.modprobe"]
	well := helper == "" || f.Sysctls["kernel.modules_disabled"] == "1" || !olderThan(f.Kernel, 6, 14)
	return newCheck("kernel.modprobe", well, Warn, cmp.Or(helper, "none"),
		"execve of a file in no known format makes the kernel start this as root (before Linux 6.14)",
		"once all modules that are needed are loaded, sysctl kernel.modprobe= or sysctl kernel.modules_disabled=1")
}

// olderThan reports whether a kernel release, such as 6.1.0-18-amd64, is older than major.minor.
// A release that cannot be parsed counts as older.
func olderThan(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return true
	}
	return a < major || a == major && b < minor
}

// hardeningChecks gives advice about the host. brig does not depend on any of it.
func hardeningChecks(f Facts) []Check {
	pattern := f.Sysctls["kernel.core_pattern"]
	all := []Check{newCheck("core_pattern", !strings.HasPrefix(pattern, "|"), Warn, orNone(pattern),
		"the kernel starts this as root when a process crashes; for a run only if an operator's profile lets it set "+
			"its core size limit to 0", "sysctl kernel.core_pattern=core"), modprobe(f)}
	for _, s := range []struct {
		name    string
		minimum int
		why     string
	}{
		{"kernel.unprivileged_bpf_disabled", 1, "users may load programs into the kernel"},
		{"kernel.dmesg_restrict", 1, "users may read the kernel's log, with its addresses"},
		{"kernel.kptr_restrict", 1, "users may read the kernel's addresses"},
		{"kernel.yama.ptrace_scope", 1, "a process may read any other of its user"},
		{"kernel.perf_event_paranoid", 2, "users may measure the kernel"},
		{"kernel.randomize_va_space", 2, "addresses of programs can be guessed"},
	} {
		v := f.Sysctls[s.name]
		n, err := strconv.Atoi(v)
		all = append(all, newCheck(s.name, v == "" ||
			err == nil && n >= s.minimum, Warn, orNone(v), s.why, fmt.Sprintf("sysctl %s=%d", s.name, s.minimum)))
	}

	v := f.Sysctls["fs.suid_dumpable"]
	all = append(all, newCheck("fs.suid_dumpable", v == "" ||
		v == "0", Warn, orNone(v), "programs with privileges may dump their memory", "sysctl fs.suid_dumpable=0"))
	flaws := strings.Join(f.Vulnerabilities, " ")
	if flaws == "" {
		flaws = "none that the kernel knows and does not mitigate"
	}

	return append(all, newCheck("processor flaws", len(f.Vulnerabilities) == 0, Warn, flaws,
		"a program may read other programs' memory", "update kernel and microcode, and remove mitigations=off"))
}
