package bpf

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// corpus lists what the tiers promise about named attacks, in strace notation. An empty
// list of tiers means all.
var corpus = []struct {
	id, call string
	args     [6]uint64
	want     seccomp.Answer
	tiers    string
}{
	{"SEC-08 TIOCSTI", "ioctl", [6]uint64{0, 0x5412}, seccomp.Fail(seccomp.ENOTTY), ""},
	{"SEC-08 TIOCSTI with garbage above bit 31", "ioctl", [6]uint64{0, 0xdead_0000_5412}, seccomp.Fail(seccomp.ENOTTY), ""},
	{"SEC-08 TCGETS with garbage above bit 31", "ioctl", [6]uint64{0, 1<<32 | 0x5401}, seccomp.Fail(seccomp.ENOTTY), ""},
	{"SEC-36 TIOCLINUX", "ioctl", [6]uint64{0, 0x541c}, seccomp.Fail(seccomp.ENOTTY), ""},
	{"FICLONE", "ioctl", [6]uint64{0, 0x40049409}, seccomp.Fail(seccomp.ENOTTY), ""},
	{"SEC-09 prctl SET_NAME with garbage", "prctl", [6]uint64{1<<32 | 15}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-09 fcntl F_SETLEASE", "fcntl", [6]uint64{0, 1024}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-09 fcntl F_SETLEASE with garbage", "fcntl", [6]uint64{0, 1<<32 | 1024}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-09 madvise HWPOISON", "madvise", [6]uint64{0, 0, 100}, seccomp.Fail(seccomp.EINVAL), ""},
	{"SEC-09 madvise HWPOISON with garbage", "madvise", [6]uint64{0, 0, 1<<63 | 100}, seccomp.Fail(seccomp.EINVAL), ""},
	{"madvise MERGEABLE", "madvise", [6]uint64{0, 0, 12}, seccomp.Fail(seccomp.EINVAL), ""},
	{"SEC-09 socketpair AF_UNIX with garbage", "socketpair", [6]uint64{1<<32 | 1, 1}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-13 io_uring", "io_uring_setup", [6]uint64{8}, seccomp.Fail(seccomp.ENOSYS), ""},
	{"SEC-14 userfaultfd", "userfaultfd", [6]uint64{}, seccomp.Fail(seccomp.ENOSYS), ""},
	{"SEC-15 bpf", "bpf", [6]uint64{5}, seccomp.Kill(), ""},
	{"SEC-16 perf", "perf_event_open", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-17 keyctl", "keyctl", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-17 add_key", "add_key", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-17 request_key", "request_key", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-18 AF_ALG", "socket", [6]uint64{38, 5}, seccomp.Fail(seccomp.EAFNOSUPPORT), "strict default managed compile"},
	{"SEC-18 AF_ALG pair", "socketpair", [6]uint64{38, 5}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-20 MSG_OOB", "sendto", [6]uint64{3, 0, 1, 1}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-20 MSG_OOB among others", "sendmsg", [6]uint64{3, 0, 0x4041}, seccomp.Fail(seccomp.EPERM), ""},
	{"MSG_NOSIGNAL is fine", "sendto", [6]uint64{3, 0, 1, 0x4000}, seccomp.Allow(), "default managed compile"},
	{"SCM_RIGHTS", "sendmsg", [6]uint64{3, 0, 0}, seccomp.Fail(seccomp.EPERM), "strict default managed compile"},
	{"MSG_ZEROCOPY", "sendto", [6]uint64{3, 0, 1, 0x4000000}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-21 splice", "splice", [6]uint64{}, seccomp.Fail(seccomp.ENOSYS), ""},
	{"SEC-21 vmsplice", "vmsplice", [6]uint64{}, seccomp.Fail(seccomp.ENOSYS), ""},
	{"SEC-21 sendfile", "sendfile", [6]uint64{}, seccomp.Fail(seccomp.EINVAL), ""},
	{"SEC-22 ptrace", "ptrace", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-22 process_vm_readv", "process_vm_readv", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-22 pidfd_getfd", "pidfd_getfd", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-23 clone3", "clone3", [6]uint64{}, seccomp.Fail(seccomp.ENOSYS), ""},
	{"SEC-23 clone NEWUSER", "clone", [6]uint64{0x10000011}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-23 clone NEWUSER with garbage", "clone", [6]uint64{0xff_1000_0011}, seccomp.Fail(seccomp.EPERM), ""},
	{"fork by clone", "clone", [6]uint64{0x1200011}, seccomp.Fail(seccomp.EPERM), "strict"},
	{"fork by clone", "clone", [6]uint64{0x1200011}, seccomp.Allow(), "default managed compile"},
	{"glibc's pthread_create", "clone", [6]uint64{0x3d0f00}, seccomp.Allow(), ""},
	{"Go's threads", "clone", [6]uint64{0xd0f00}, seccomp.Allow(), ""},
	{"SEC-26 READ_IMPLIES_EXEC", "personality", [6]uint64{0x400000}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-27 SET_SECCOMP", "prctl", [6]uint64{22, 2}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-27 SET_MM", "prctl", [6]uint64{35}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-27 SET_PTRACER", "prctl", [6]uint64{0x59616d61}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-27 SET_DUMPABLE 2", "prctl", [6]uint64{4, 2}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-28 a second filter", "seccomp", [6]uint64{1, 8}, seccomp.Fail(seccomp.EPERM), ""},
	{"SEC-29 modify_ldt", "modify_ldt", [6]uint64{}, seccomp.Kill(), ""},
	{"SEC-30 statmount", "statmount", [6]uint64{}, seccomp.Fail(seccomp.ENOSYS), ""},
	{"SEC-30 setxattrat", "setxattrat", [6]uint64{}, seccomp.Fail(seccomp.EOPNOTSUPP), ""},
	{"mount after the run began", "mount", [6]uint64{}, seccomp.Fail(seccomp.EPERM), ""},
	{"move_mount after the run began", "move_mount", [6]uint64{}, seccomp.Fail(seccomp.EPERM), ""},
	{"setresuid after the run began", "setresuid", [6]uint64{}, seccomp.Fail(seccomp.EPERM), ""},
	{"dropping a capability again", "prctl", [6]uint64{24}, seccomp.Fail(seccomp.EPERM), ""},
	{"another process's limits", "prlimit64", [6]uint64{2, 7}, seccomp.Fail(seccomp.EPERM), ""},
	{"its own limits, reading", "prlimit64", [6]uint64{0, 7, 0, 1}, seccomp.Allow(), ""},
	{"its own limits, writing", "prlimit64", [6]uint64{0, 7, 0xffff0000, 0}, seccomp.Fail(seccomp.EPERM), "strict"},
	{"its own stack limit, writing", "prlimit64", [6]uint64{0, 3, 0xffff0000, 0}, seccomp.Allow(), ""},
	{"TCP_ULP", "setsockopt", [6]uint64{3, 6, 31}, seccomp.Fail(seccomp.EPERM), ""},
	{"execve", "execve", [6]uint64{1, 2, 3}, seccomp.Allow(), ""},
}

// Both parts together keep the promise, and so does the whole profile.
func TestCorpus(t *testing.T) {
	for _, name := range seccomp.Tiers() {
		p, err := seccomp.Tier(name)
		if err != nil {
			t.Fatal(err)
		}

		p.Arch = seccomp.AMD64
		if p.Arch != seccomp.Arch("").OrNative() {
			t.Skip("the corpus is written in amd64's calls")
		}

		model := seccomp.NewModel(p)
		wide, last := seccomp.Split(p)
		var parts [][]byte
		for _, part := range []seccomp.Profile{last, wide} {
			raw, err := Compile(part)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, raw)
		}

		for _, tt := range corpus {
			if tt.tiers != "" && !strings.Contains(tt.tiers, name) {
				continue
			}
			nr, ok := seccomp.Number(tt.call, p.Arch)
			if !ok {
				t.Fatalf("no number for %s", tt.call)
			}
			c := seccomp.Call{Nr: nr, Arch: p.Arch.Audit(), Args: tt.args}
			if got := finalAnswer(model, c, answer(t, c, parts...)); got != tt.want {
				t.Errorf("%s: %s: got %s; want %s", name, tt.id, got, tt.want)
			}
		}

		checkFamilies(t, name, model, p, parts)
	}
}
