package seccomp

import (
	"slices"
	"strings"
	"testing"
)

func tier(t testing.TB, name string) Profile {
	t.Helper()
	p, err := Tier(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A tier may grow only on purpose.
func TestTiersAreAsLargeAsMeantToBe(t *testing.T) {
	for name, want := range map[string]int{"strict": 89, "default": 167, "managed": 170, "compile": 167} {
		if got := tier(t, name).Allows(); len(got) != want {
			t.Errorf("%s allows %d calls; want %d: %s", name, len(got), want, strings.Join(got, " "))
		}
	}
}

func TestTiersPassLint(t *testing.T) {
	for _, name := range Tiers() {
		for _, arch := range []Arch{AMD64, ARM64} {
			p := tier(t, name)
			p.Arch = arch
			for _, f := range Lint(p) {
				if f.Fatal || !strings.Contains(f.Text, "equal to the default") && !strings.Contains(f.Text, "does not exist on") {
					t.Errorf("%s on %s: %s", name, arch, f)
				}
			}
		}
	}
}

// A tier without a grant allows all others, and nothing else.
func TestTierWithout(t *testing.T) {
	for _, name := range Tiers() {
		whole := tier(t, name).Grants()
		for i, g := range whole {
			less, err := TierWithout(name, g)
			if err != nil {
				t.Fatal(err)
			}

			got := less.Grants()
			want := slices.Delete(slices.Clone(whole), i, i+1)
			if !slices.EqualFunc(got, want, func(a, b Grant) bool { return a.String() == b.String() }) {
				t.Errorf("%s without %s allows %v", name, g, got)
			}

			starts := g.Call != "execve" && g.Call != "exit_group"
			if err := Validate(less); (err == nil) != starts {
				t.Errorf("%s without %s: %v", name, g, err)
			}
		}

		if _, err := TierWithout(name, Grant{Call: "ptrace"}); err == nil {
			t.Errorf("%s is without ptrace already, and that is no error", name)
		}
	}

	less, err := TierWithout("default", Grant{Call: "flock"})
	if err != nil {
		t.Fatal(err)
	}
	if d := NewModel(less).Decide(Call{Nr: 73, Arch: AMD64.Audit()}); AMD64 == less.Arch.OrNative() && d.Answer != Fail(ENOSYS) {
		t.Errorf("without its rule flock has %s; want what other tiers answer", d.Answer)
	}
}

// Attacks that a single argument or bit would open.
func TestTiersRefuseArguments(t *testing.T) {
	const all = "strict default managed compile"
	for _, c := range []struct {
		call  string
		args  [6]uint64
		why   string
		tiers string
		want  Answer
	}{
		{"futex", [6]uint64{1, 6}, "LOCK_PI", all, Fail(ENOSYS)},
		{"futex", [6]uint64{1, 0x80 | 7}, "UNLOCK_PI, private", all, Fail(ENOSYS)},
		{"futex", [6]uint64{1, 0x80 | 12}, "CMP_REQUEUE_PI", all, Fail(ENOSYS)},
		{"futex", [6]uint64{1, 0x180 | 11}, "WAIT_REQUEUE_PI", all, Fail(ENOSYS)},
		{"futex", [6]uint64{1, 13}, "LOCK_PI2", all, Fail(ENOSYS)},
		{"clone", [6]uint64{0x1000 | 17}, "CLONE_PIDFD", all, Fail(EPERM)},
		{"clone", [6]uint64{0x3d0f00 | 0x1000}, "CLONE_PIDFD of a thread", all, Fail(EPERM)},
		{"clone", [6]uint64{0x2000 | 17}, "CLONE_PTRACE", all, Fail(EPERM)},
		{"clone", [6]uint64{0x8000 | 17}, "CLONE_PARENT", all, Fail(EPERM)},
		{"clone", [6]uint64{0x800000 | 17}, "CLONE_UNTRACED", all, Fail(EPERM)},
		{"clone", [6]uint64{0x80000000 | 17}, "CLONE_IO", all, Fail(EPERM)},
		{"clone", [6]uint64{0x400 | 17}, "CLONE_FILES of a process", all, Fail(EPERM)},
		{"clone", [6]uint64{0x10000000 | 17}, "CLONE_NEWUSER", all, Fail(EPERM)},
		{"clone", [6]uint64{0x40000000 | 0x3d0f00}, "CLONE_NEWNET of a thread", all, Fail(EPERM)},
		{"clone", [6]uint64{17}, "fork", "strict", Fail(EPERM)},
		{"clone", [6]uint64{0x4111}, "posix_spawn", "strict", Fail(EPERM)},
		{"madvise", [6]uint64{0, 4096, 21}, "PAGEOUT", all, Fail(EINVAL)},
		{"madvise", [6]uint64{0, 4096, 25}, "COLLAPSE", all, Fail(EINVAL)},
		{"madvise", [6]uint64{0, 4096, 9}, "REMOVE", all, Fail(EINVAL)},
		{"madvise", [6]uint64{0, 4096, 12}, "MERGEABLE", all, Fail(EINVAL)},
		{"prctl", [6]uint64{0x53564d41}, "SET_VMA", all, Fail(EPERM)},
		{"clock_nanosleep", [6]uint64{2}, "a processor clock", all, Fail(EPERM)},
		{"timer_create", [6]uint64{2}, "CLOCK_PROCESS_CPUTIME_ID", all, Fail(EPERM)},
		{"timer_create", [6]uint64{3}, "CLOCK_THREAD_CPUTIME_ID", all, Fail(EPERM)},
		{"timer_create", [6]uint64{0xfffffffe}, "the clock of a thread by its number", all, Fail(EPERM)},
		{"timerfd_create", [6]uint64{9}, "CLOCK_BOOTTIME_ALARM", all, Fail(EPERM)},
		{"setsockopt", [6]uint64{3, 1, 26}, "SO_ATTACH_FILTER", all, Fail(EPERM)},
		{"setsockopt", [6]uint64{3, 1, 51}, "SO_ATTACH_REUSEPORT_CBPF", all, Fail(EPERM)},
		{"setsockopt", [6]uint64{3, 1, 76}, "SO_PASSPIDFD", all, Fail(EPERM)},
		{"getsockopt", [6]uint64{3, 1, 77}, "SO_PEERPIDFD", all, Fail(EPERM)},
		{"getsockopt", [6]uint64{3, 1, 26}, "SO_GET_FILTER", all, Fail(EPERM)},
		{"setsockopt", [6]uint64{3, 1, 46}, "SO_BUSY_POLL", all, Fail(EPERM)},
		{"setsockopt", [6]uint64{3, 1, 37}, "SO_TIMESTAMPING", all, Fail(EPERM)},
		{"setsockopt", [6]uint64{3, 6, 31}, "TCP_ULP", all, Fail(EPERM)},
		{"pipe2", [6]uint64{1, 0x80}, "O_NOTIFICATION_PIPE", all, Fail(EPERM)},
		{"fadvise64", [6]uint64{3, 0, 0, 4}, "DONTNEED", "default managed compile", Fail(EINVAL)},
		{"fallocate", [6]uint64{3, 3, 0, 4096}, "PUNCH_HOLE", all, Fail(EPERM)},
		{"waitid", [6]uint64{3, 3}, "P_PIDFD", all, Fail(EPERM)},
		{"memfd_create", [6]uint64{1, 4}, "MFD_HUGETLB", all, Fail(EPERM)},
		{"fcntl", [6]uint64{3, 1024}, "SETLEASE", all, Fail(EPERM)},
		{"fcntl", [6]uint64{3, 1026}, "NOTIFY", all, Fail(EPERM)},
		{"fcntl", [6]uint64{3, 37}, "OFD_SETLK", all, Fail(EPERM)},
		{"inotify_init1", [6]uint64{}, "watches on shared files", all, Fail(ENOSYS)},
		{"pidfd_open", [6]uint64{1}, "handles of processes", all, Fail(ENOSYS)},
		{"sendmsg", [6]uint64{3, 1, 0}, "SCM_RIGHTS", all, Fail(EPERM)},
		{"recvmsg", [6]uint64{3, 1, 1}, "MSG_OOB", all, Fail(EPERM)},
		{"membarrier", [6]uint64{1}, "GLOBAL", all, Fail(ENOSYS)},
		{"membarrier", [6]uint64{2}, "GLOBAL_EXPEDITED", all, Fail(ENOSYS)},
		{"membarrier", [6]uint64{32}, "PRIVATE_EXPEDITED_SYNC_CORE", all, Fail(ENOSYS)},
		{"membarrier", [6]uint64{128}, "PRIVATE_EXPEDITED_RSEQ, which selects a processor", all, Fail(ENOSYS)},
		{"membarrier", [6]uint64{8}, "PRIVATE_EXPEDITED", "strict default compile", Fail(ENOSYS)},
		{"membarrier", [6]uint64{8}, "PRIVATE_EXPEDITED", "managed network", Allow()},
		{"membarrier", [6]uint64{16}, "REGISTER_PRIVATE_EXPEDITED", "managed network", Allow()},
		{"sched_setaffinity", [6]uint64{}, "binding to processors", "strict default compile", Fail(EPERM)},
		{"sched_setaffinity", [6]uint64{}, "binding its own thread", "managed network", Allow()},
		{"sched_setaffinity", [6]uint64{2}, "binding another thread", all, Fail(EPERM)},
		{"get_mempolicy", [6]uint64{}, "memory nodes", all, Fail(ENOSYS)},
	} {
		for name := range strings.FieldsSeq(c.tiers) {
			p := tier(t, name)
			nr, ok := Number(c.call, p.Arch)
			if !ok {
				t.Fatalf("no call %s", c.call)
			}
			if d := Decide(p, Call{Nr: nr, Arch: p.Arch.Audit(), Args: c.args}); d.Answer != c.want {
				t.Errorf("%s: %s, %s: %s; want %s", name, c.call, c.why, d.Answer, c.want)
			}
		}
	}
}
