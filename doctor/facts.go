package doctor

import "github.com/brig-sandbox/brig/cgroups"

// An Answer is what the kernel said when asked for something.
type Answer struct {
	State cgroups.State // unknown: it could not be asked
	Said  string        // the error, or a detail
}

// Facts are what Gather found.
type Facts struct {
	Kernel, Arch string
	Root         bool
	Processors   int
	Store        string // directory probed for idmapped mounts: the store, or the closest above it that exists
	StoreType    string // its file system

	Cgroups   *cgroups.Host // nil when CgroupErr is set
	CgroupErr string        // why the groups could not be asked
	CheckErr  string        // why they do not do
	CloneInto Answer

	UserNS   Answer
	Proc     Answer            // one of its own in a user namespace
	Sysctls  map[string]string // by name, such as user.max_user_namespaces; empty where there is none
	Seccomp  Answer
	Notify   Answer
	MountAPI Answer // fsopen, fsconfig, fsmount, by making a tmpfs nobody sees
	MoveTree Answer // move_mount
	OpenTree Answer
	IDMap    Answer
	Overlay  Answer
	Openat2  Answer
	Pidfd    Answer
	CloseR   Answer
	Memfd    Answer
	Volumes  Answer // what they need: mkfs.ext4, loop devices, ext4

	Brigd, BrigdVersion, BrigdErr string
	Agent                         Agent

	Outdated    []Outdated
	OutdatedErr string

	Noise           Noise
	Vulnerabilities []string // those the kernel calls vulnerable
}

// An Agent is what the one on the socket answered. Asking is the caller's part.
type Agent struct {
	Socket  string
	Version string
	Err     string
}

// An Outdated is a stored image that lacks what a language needs. Asking is the caller's part.
type Outdated struct {
	Image string
	Lacks []string
	Cure  string
}

// Noise is what makes two runs of one program take different times. What the
// kernel does not show is an empty string.
type Noise struct {
	SMT       string // smt/active: 1 or 0
	Governors []string
	Turbo     string // on or off
	THP       string // the mode in force
	Load      float64
}

// sysctls lists those that are read.
func sysctls() []string {
	return []string{
		"user.max_user_namespaces", "kernel.unprivileged_userns_clone", "kernel.apparmor_restrict_unprivileged_userns",
		"vm.memfd_noexec", "kernel.core_pattern", "kernel.modprobe", "kernel.modules_disabled",
		"kernel.unprivileged_bpf_disabled", "kernel.dmesg_restrict", "kernel.kptr_restrict", "kernel.yama.ptrace_scope",
		"kernel.perf_event_paranoid", "kernel.randomize_va_space", "fs.suid_dumpable",
	}
}
