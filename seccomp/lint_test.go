package seccomp

import (
	"strings"
	"testing"
)

// sound returns a profile without findings, to which a test adds one fault.
func sound() Profile {
	return Profile{Name: "sound", Arch: AMD64, Default: Fail(EPERM), Rules: []Rule{
		plain(Allow(), "a program's life", "execve exit_group read write close mmap munmap mprotect brk openat "+
			"set_tid_address rt_sigreturn"),
	}}
}

func TestLint(t *testing.T) {
	if found := Lint(sound()); len(found) > 0 {
		t.Fatalf("the sound profile: %v", found)
	}

	add := func(r Rule) func(*Profile) { return func(p *Profile) { p.Rules = append(p.Rules, r) } }
	for _, tt := range []struct {
		name  string
		fault func(*Profile)
		fatal bool
		want  string
	}{
		{"two conditions on one argument (SEC-10)", add(when("ioctl", "x", eq(1, 1), eq(1, 2))), true, "two conditions on argument 1"},
		{"an unknown name (SEC-11)", add(plain(Allow(), "x", "opnat")), true, `unknown system call "opnat"`},
		{"a name of another architecture", func(p *Profile) { p.Arch = ARM64; p.Rules = append(p.Rules, plain(Allow(), "x", "fork")) }, false,
			"does not exist on arm64"},
		{"a rule equal to the default", add(plain(Fail(EPERM), "x", "chown")), false, "equal to the default"},
		{"a refusal of an int with all 64 bits", add(Rule{Names: calls("ioctl"), Args: []ArgCond{eq(1, 0x5412)}, Answer: Fail(ENOTTY), Why: "x"}),
			true, "mask: 0xffffffff"},
		{"a value outside its mask", add(when("ioctl", "x", masked(1, 0xf0, 0x1))), true, "can never match"},
		{"an argument that does not exist", add(when("ioctl", "x", eq(6, 1))), true, "arguments 0 to 5"},
		{"kill on write", func(p *Profile) {
			p.Rules[0].Names = p.Rules[0].Names[:3]
			p.Rules = append(p.Rules, plain(Kill(), "x", "write"))
		}, true, "on write"},
		{"no way to start", func(p *Profile) { p.Rules[0].Names = p.Rules[0].Names[1:] }, true, "execve is not allowed"},
		{"no way to end", func(p *Profile) { p.Rules[0].Names = calls("execve read") }, true, "exit_group is not allowed"},
		{"a condition on execve, whose arguments are pointers (SEC-24)", func(p *Profile) {
			p.Rules[0].Names = p.Rules[0].Names[1:]
			p.Rules = append(p.Rules, when("execve", "x", eq(0, 4096)))
		}, true, "pointers"},
		{"most programs cannot start", func(p *Profile) { p.Rules[0].Names = calls("execve exit_group") }, false, "openat is not allowed"},
		{"two different unconditional answers", add(plain(Fail(ENOSYS), "x", "read")), true, "another unconditional answer"},
		{"conditions that overlap with different answers", func(p *Profile) {
			p.Rules = append(p.Rules, when("ioctl", "x", masked(1, 0xff00, 0x5400)),
				Rule{Names: calls("ioctl"), Args: []ArgCond{masked(1, 0xffffffff, 0x5412)}, Answer: Fail(ENOTTY), Why: "x"})
		}, true, "answers some of the same arguments"},
		{"rules that no library compiles in bounded time", func(p *Profile) {
			p.Rules = append(p.Rules, when("bind", "x", masked(1, 3, 1), masked(2, 3, 1)), when("bind", "x", masked(3, 3, 1), masked(4, 3, 1)))
		}, true, "too complex"},
		{"many values left out of two registers", func(p *Profile) {
			for i := range uint64(40) {
				p.Rules = append(p.Rules, when("bind", "x", eq(1, i)), when("bind", "x", eq(2, i)))
			}
			p.Rules = append(p.Rules, plain(Fail(ENOSYS), "x", "bind"))
		}, true, "too complex"},
		{"an errno of zero, which means success", add(plain(Fail(0), "x", "bpf")), true, "succeeded"},
		{"an errno beyond the kernel's", add(plain(Fail(4096), "x", "bpf")), true, "error number"},
		{"an errno with allow", add(plain(Answer{ActAllow, EPERM}, "x", "bpf")), true, "only errno takes one"},
		{"the kernel's own kill", add(plain(Answer{Action: ActKillProcess}, "x", "bpf")), true, "use kill"},
		{"no action", add(plain(Answer{}, "x", "bpf")), true, "unknown action"},
		{"no reason", add(plain(Allow(), " ", "bpf")), true, "reason"},
		{"a terminal escape as reason", add(plain(Allow(), "\x1b[2J", "bpf")), true, "reason"},
		{"no names", add(plain(Allow(), "x", "")), true, "names no call"},
		{"allow as default", func(p *Profile) { p.Default = Allow() }, true, "list of what is allowed"},
		{"an unknown architecture", func(p *Profile) { p.Arch = "vax" }, true, "no table for architecture"},
		{"too many rules", func(p *Profile) { p.Rules = append(p.Rules, make([]Rule, maxRules)...) }, true, "at most"},
		{"allowing what every tier kills for", add(plain(Allow(), "x", "ptrace")), false, "every tier kills"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := sound()
			tt.fault(&p)
			found, seen := Lint(p), false
			for _, f := range found {
				seen = seen || f.Fatal == tt.fatal && strings.Contains(f.Text, tt.want)
			}
			if !seen {
				t.Errorf("got %v; want one with %q, fatal %v", found, tt.want, tt.fatal)
			}
			if err := Validate(p); (err != nil) != tt.fatal {
				t.Errorf("Validate: %v; want an error: %v", err, tt.fatal)
			}
		})
	}
}

func TestExtendReplacesAndRemoves(t *testing.T) {
	p := Extend(tier(t, "default"), []string{"socketpair"}, []Rule{
		plain(Fail(ENOSYS), "no forks", "fork"),
		plain(Allow(), "a tracer", "ptrace"),
		when("ioctl", "one request more", eq(1, 0x5402)),
	})

	for _, tt := range []struct {
		call string
		args [6]uint64
		want Answer
	}{
		{"socketpair", [6]uint64{1, 1}, Fail(EPERM)},
		{"fork", [6]uint64{}, Fail(ENOSYS)},
		{"vfork", [6]uint64{}, Allow()},
		{"ptrace", [6]uint64{}, Allow()},
		{"ioctl", [6]uint64{0, 0x5402}, Allow()},
		{"ioctl", [6]uint64{0, 0x541b}, Allow()},
		{"ioctl", [6]uint64{0, 0x5403}, Fail(ENOTTY)},
	} {
		p.Arch = AMD64
		nr, _ := Number(tt.call, AMD64)
		if got := Decide(p, Call{Nr: nr, Arch: AMD64.Audit(), Args: tt.args}); got.Answer != tt.want {
			t.Errorf("%s%v: %v; want %v", tt.call, tt.args, got.Answer, tt.want)
		}
	}

	if err := Validate(p); err != nil {
		t.Error(err)
	}
}

func TestSplitNeedsNoListenerInTheLastPart(t *testing.T) {
	for _, name := range Tiers() {
		p := tier(t, name)
		p.Default = Kill()
		_, last := Split(p)
		for i, r := range last.Rules {
			if r.Action == ActKill {
				t.Errorf("%s: rule %d of the last part notifies: %v", name, i, r.Names)
			}
		}
	}
}

// In log mode every call that a profile refuses is notified and refused by neither part;
// the calls that cellinit needs are allowed to cellinit only.
func TestLogModeNotifiesEveryRefusal(t *testing.T) {
	bare := Profile{Name: "bare", Arch: AMD64, Default: Fail(EPERM), Rules: []Rule{plain(Allow(), "a program's life", "execve exit_group")}}
	killing := bare
	killing.Default = Kill()

	for _, p := range []Profile{tier(t, "strict"), tier(t, "default"), tier(t, "compile"), bare, killing} {
		p.Arch = AMD64
		wide, last := Split(LogMode(p))
		plain, w, l := NewModel(p), NewModel(wide), NewModel(last)
		refusals := 0
		for c := range BoundaryCalls(p) {
			want := Kill()
			if a := plain.Decide(c).Answer; a.Action == ActAllow || a.Action == ActLog {
				want = a
			} else {
				refusals++
			}
			if got := w.Decide(c); got.Answer != want {
				t.Fatalf("%s: %+v gets %s; want %s", p.Name, c, got.Answer, want)
			}
			if got := l.Decide(c); got.Answer != Allow() {
				t.Fatalf("%s: the last part answers %+v with %s", p.Name, c, got.Answer)
			}
		}

		for _, name := range ShellCalls() {
			nr, _ := Number(name, AMD64)
			if got := w.Decide(Call{Nr: nr, Arch: AMD64.Audit(), Args: [6]uint64{5: SetupMark}}); got.Answer != Allow() {
				t.Errorf("%s: cellinit's %s gets %s", p.Name, name, got.Answer)
			}
		}

		if refusals == 0 {
			t.Errorf("%s refuses nothing: the test is blind", p.Name)
		}
	}
}

// SEC-42. The last part takes back what the wide part opens to cellinit's code from a
// program that passes the mark, whatever the other arguments.
func TestTheMarkOpensNothingToPrograms(t *testing.T) {
	for _, name := range Tiers() {
		p := tier(t, name)
		p.Arch = AMD64
		wide, last := Split(p)
		plain, w, l := NewModel(p), NewModel(wide), NewModel(last)
		opened, begins := 0, 0
		for c := range BoundaryCalls(p, wide, last) {
			if w.Decide(c).Action != ActAllow || plain.Decide(c).Action == ActAllow {
				continue
			}
			opened++
			if plain.Decide(c).Name == "execveat" && c.Args[0] == 3 { // templateStart
				begins++
				continue
			}
			if got := l.Decide(c); got.Action != ActErrno && got.Action != ActKillProcess {
				t.Fatalf("%s: %s with %#x gets %s; the profile says %s", name, got.Name, c.Args, got.Answer, plain.Decide(c).Answer)
			}
		}

		if opened == 0 || begins == 0 {
			t.Errorf("%s: the wide part opens %d calls, %d of them begin a template: the test is blind", name, opened, begins)
		}
	}
}

func TestSimulateRefusesWhatTheKernelWould(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter []byte
	}{
		{"nothing", nil},
		{"half an instruction", []byte{6, 0, 0, 0}},
		{"no return", []byte{0x20, 0, 0, 0, 0, 0, 0, 0}},
		{"a load behind the data", []byte{0x20, 0, 0, 0, 64, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}},
		{"an unaligned load", []byte{0x20, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}},
		{"a jump behind the end", []byte{0x15, 0, 9, 9, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}},
		{"a division by zero", []byte{0x34, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}},
	} {
		if ret, _, err := Simulate(tt.filter, Call{}); err == nil {
			t.Errorf("%s: returned %#x; want an error", tt.name, ret)
		}
	}
}

func FuzzSimulateNeverPanics(f *testing.F) {
	f.Add([]byte{0x20, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0}, int32(1))
	f.Fuzz(func(t *testing.T, filter []byte, nr int32) {
		_, steps, err := Simulate(filter, Call{Nr: nr})
		if err == nil && steps > len(filter)/8 {
			t.Errorf("%d steps in %d instructions: classic BPF has no loops", steps, len(filter)/8)
		}
	})
}

// Combine follows the kernel's order of actions.
func TestCombineTakesTheStricter(t *testing.T) {
	order := []uint32{retKillProcess, retKillThread, retTrap, retErrno | 1, retNotify, retTrace, retLog, retAllow}
	for i, strict := range order {
		for _, loose := range order[i+1:] {
			if got := Combine(strict, loose); got != strict {
				t.Errorf("Combine(%#x, %#x) = %#x", strict, loose, got)
			}
			if got := Combine(loose, strict); got != strict {
				t.Errorf("Combine(%#x, %#x) = %#x", loose, strict, got)
			}
		}
	}

	if got := Combine(retErrno|38, retErrno|1); got != retErrno|38 {
		t.Errorf("two errors combine to %#x; want the newest filter's", got)
	}
}
