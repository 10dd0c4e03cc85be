package doctor

import "github.com/brig-sandbox/brig/cgroups"

// An Answer is the kernel's answer to a probe for one feature.
type Answer struct {
	State  cgroups.State // unknown: it could not be probed
	Detail string        // the error, or a detail
}

// Facts are what Gather found.
type Facts struct {
	Kernel, Arch string
	Root         bool
	Processors   int
	Store        string // directory probed for idmapped mounts: the store, or the closest above it that exists
	StoreType    string // its file system

	Cgroups   *cgroups.Host // nil when CgroupErr is set
	CgroupErr string        // why the cgroups could not be probed
	CheckErr  string        // why they are not sufficient
	CloneInto Answer

	UserNS     Answer
	Proc       Answer            // a new /proc in a user namespace
	Sysctls    map[string]string // by name, such as user.max_user_namespaces; empty where there is none
	Seccomp    Answer
	Notify     Answer
	MountAPI   Answer // fsopen, fsconfig, fsmount, by making a tmpfs that is attached nowhere
	MoveTree   Answer // move_mount
	OpenTree   Answer
	IDMap      Answer
	Overlay    Answer
	Openat2    Answer
	Pidfd      Answer
	CloseRange Answer
	Memfd      Answer
	Volumes    Answer // their requirements: mkfs.ext4, loop devices, ext4

	Brigd, BrigdVersion, BrigdErr string
	Agent                         Agent

	Outdated    []Outdated
	OutdatedErr string

	Noise           Noise
	Vulnerabilities []string // those the kernel calls vulnerable
}

// An Agent is the answer of the agent on the socket. The caller of Gather asks it.
type Agent struct {
	Socket    string
	Version   string
	Err       string
	Damaged   []string // digests of stored images whose files are not as they were imported
	Templates string   // why a template of an interpreter could not be made, or a run not begin from it; empty: all could
}

// An Outdated is a stored image that lacks what a language needs. The caller of Gather finds these.
type Outdated struct {
	Image  string
	Lacks  []string
	Remedy string
}

// Noise is the state of what makes two runs of one program take different times. A value that the
// kernel does not show is an empty string.
type Noise struct {
	SMT       string // smt/active: 1 or 0
	Governors []string
	Turbo     string // on or off
	THP       string // the mode in force
	Load      float64
}

// sysctls lists the sysctls that Gather reads.
func sysctls() []string {
	return []string{
		"user.max_user_namespaces", "kernel.unprivileged_userns_clone", "kernel.apparmor_restrict_unprivileged_userns",
		"vm.memfd_noexec", "kernel.core_pattern", "kernel.modprobe", "kernel.modules_disabled",
		"kernel.unprivileged_bpf_disabled", "kernel.dmesg_restrict", "kernel.kptr_restrict", "kernel.yama.ptrace_scope",
		"kernel.perf_event_paranoid", "kernel.randomize_va_space", "fs.suid_dumpable",
	}
}
