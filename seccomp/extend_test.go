package seccomp

import (
	"strings"
	"testing"
)

// A rule without arguments that is stricter than the tier's rules forbids the whole call:
// the tier's rules for some arguments do not take precedence.
func TestExtendForbidsACallWhole(t *testing.T) {
	base := tier(t, "default")
	base.Arch = AMD64
	nr, _ := Number("clone", AMD64)
	thread, fork, namespace := uint64(0x3d0f00), uint64(0x1200011), uint64(0x10000011)
	free := when("clone", "threads of its own process", masked(0, ^uint64(threadFree), threadClone))
	for _, tt := range []struct {
		name   string
		remove []string
		more   []Rule
		want   [3]Answer // to the clone of a thread, a fork and a new user namespace
	}{
		{"the tier", nil, nil, [3]Answer{Allow(), Allow(), Fail(EPERM)}},
		{"kill", nil, []Rule{plain(Kill(), "x", "fork vfork clone clone3")}, [3]Answer{Kill(), Kill(), Kill()}},
		{"errno", nil, []Rule{plain(Fail(ENOSYS), "x", "clone")}, [3]Answer{Fail(ENOSYS), Fail(ENOSYS), Fail(ENOSYS)}},
		{"errno, the default's", nil, []Rule{plain(Fail(EPERM), "x", "clone")}, [3]Answer{Fail(EPERM), Fail(EPERM), Fail(EPERM)}},
		{"log", nil, []Rule{plain(Answer{Action: ActLog}, "x", "clone")}, [3]Answer{{Action: ActLog}, {Action: ActLog}, {Action: ActLog}}},
		{"its own rule with arguments stays", nil, []Rule{plain(Kill(), "x", "clone"), free}, [3]Answer{Allow(), Kill(), Kill()}},
		{"its own rules after remove", []string{"clone"}, []Rule{plain(Kill(), "x", "clone"), free}, [3]Answer{Allow(), Kill(), Kill()}},
	} {
		p := Extend(base, tt.remove, tt.more)
		if err := Validate(p); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for i, flags := range []uint64{thread, fork, namespace} {
			if got := Decide(p, Call{Nr: nr, Arch: AMD64.Audit(), Args: [6]uint64{flags}}); got.Answer != tt.want[i] {
				t.Errorf("%s: clone with %#x: %v; want %v", tt.name, flags, got.Answer, tt.want[i])
			}
		}
	}
}

// A call that a rule without arguments forbids does not run with any arguments, whatever
// tier is extended.
func TestExtendForbidsEveryCall(t *testing.T) {
	for _, name := range Tiers() {
		base := tier(t, name)
		for _, call := range base.Allows() {
			p := Extend(base, nil, []Rule{plain(Kill(), "x", call)})
			if got := p.Allows(); len(got) != len(base.Allows())-1 {
				t.Errorf("%s: %s is forbidden, and %d of %d calls are allowed", name, call, len(got), len(base.Allows()))
			}
		}
	}
}

// Rules of the base that are stricter than the rule without arguments stay.
func TestExtendKeepsStricterRules(t *testing.T) {
	base := sound()
	base.Rules = append(base.Rules, Rule{Names: calls("mount"), Args: []ArgCond{masked(3, 0xffffffff, 1)}, Answer: Kill(), Why: "x"})
	p := Extend(base, nil, []Rule{plain(Allow(), "x", "mount")})
	nr, _ := Number("mount", p.Arch)
	for flags, want := range map[uint64]Answer{0: Allow(), 1: Kill()} {
		if got := Decide(p, Call{Nr: nr, Arch: p.Arch.Audit(), Args: [6]uint64{3: flags}}); got.Answer != want {
			t.Errorf("flags %d: %v; want %v", flags, got.Answer, want)
		}
	}
}

func TestLintExtension(t *testing.T) {
	log := Answer{Action: ActLog}
	for _, tt := range []struct {
		name   string
		remove []string
		more   Rule
		want   string // part of the only finding about the added rule; empty: no finding
	}{
		{"a refusal of a call that the tier allows", nil, plain(Kill(), "x", "clone"), ""},
		{"a refusal that equals the default, of a call that the tier allows", nil, plain(Fail(EPERM), "x", "fork"), ""},
		{"the same for some arguments", nil, plain(Fail(EPERM), "x", "clone"), ""},
		{"a refusal that equals the default", nil, plain(Fail(EPERM), "x", "personality"), "personality: equal to the default"},
		{"the same, of a call that is removed", []string{"fork"}, plain(Fail(EPERM), "x", "fork"), "fork: equal to the default"},
		{"log of a call that the tier allows", nil, plain(log, "x", "fork"), ""},
		{"log of a call that the tier allows for some arguments", nil, plain(log, "x", "clone"), "log lets clone run with any arguments"},
		{"log of a call that the tier refuses", nil, plain(log, "x", "unshare"), "log lets unshare run, which the " +
			"tier answers with errno EPERM"},
		{"log of a call that the tier does not name", nil, plain(log, "x", "personality"), "log lets personality run"},
		{"allow for any arguments", nil, plain(Allow(), "x", "ioctl"),
			"allow lets ioctl run with any arguments; the tier does so only for some arguments, and answers all " +
				"others with errno ENOTTY: give the rule args, or add remove: [ioctl]"},
		{"the same, meant", []string{"ioctl"}, plain(Allow(), "x", "ioctl"), ""},
		{"allow of a call that the tier refuses", nil, plain(Allow(), "x", "unshare"), ""},
		{"one argument more", nil, when("ioctl", "x", eq(1, 0x5402)), ""},
	} {
		base := tier(t, "default")
		first := len(Extend(base, tt.remove, []Rule{tt.more}).Rules) - 1
		var got []string
		for _, f := range LintExtension(base, tt.remove, []Rule{tt.more}) {
			if f.Rule == first {
				got = append(got, f.Text)
			}
		}
		if len(got) > 1 || (len(got) == 1) != (tt.want != "") || len(got) == 1 && !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}
