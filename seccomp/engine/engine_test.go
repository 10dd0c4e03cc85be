package engine

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

func read(t *testing.T, text, kernel string) (seccomp.Profile, []string) {
	t.Helper()
	p, unknown, err := Read("engine.json", []byte(text), kernel)
	if err != nil {
		t.Fatal(err)
	}
	return p, unknown
}

func fixture(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/engine.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The entries of an engine's profile are selected for a program without capabilities.
func TestChoices(t *testing.T) {
	if seccomp.Arch("").OrNative() != seccomp.AMD64 {
		t.Skip("the fixture's expectations are of amd64")
	}

	for _, tt := range []struct {
		call   string
		args   []uint64
		kernel string
		want   string
	}{
		{"read", nil, "6.1.0-13-amd64", "allow"},
		{"fork", nil, "6.1", "errno ENOSYS"}, // the default
		{"keyctl", nil, "6.1", "errno EPERM"},
		{"ptrace", nil, "4.8", "allow"},
		{"ptrace", nil, "4.7.9", "errno ENOSYS"},
		{"ptrace", nil, "3.10", "errno ENOSYS"},
		{"ptrace", nil, "4.19", "allow"},
		{"process_vm_readv", nil, "4.8", "errno ENOSYS"},
		{"process_vm_readv", nil, "4.7", "allow"},
		{"personality", []uint64{8}, "6.1", "allow"},
		{"personality", []uint64{9}, "6.1", "errno ENOSYS"},
		{"clone", []uint64{0x11}, "6.1", "allow"},
		{"clone", []uint64{0x10000000}, "6.1", "errno ENOSYS"}, // a new user namespace
		{"clone3", nil, "6.1", "errno ENOSYS"},
		{"mount", nil, "6.1", "errno ENOSYS"},
		{"modify_ldt", nil, "6.1", "allow"},
		{"sched_yield", nil, "6.1", "errno ENOSYS"},
		{"socket", []uint64{16, 3, 9}, "6.1", "errno EINVAL"},
		{"socket", []uint64{16, 3, 0}, "6.1", "allow"},
		{"socket", []uint64{2, 1, 9}, "6.1", "allow"},
		{"dup", nil, "6.1", "allow"},
	} {
		p, unknown := read(t, fixture(t), tt.kernel)
		nr, _ := seccomp.Number(tt.call, p.Arch)
		c := seccomp.Call{Nr: nr, Arch: p.Arch.Audit()}
		copy(c.Args[:], tt.args)
		if got := seccomp.Decide(p, c); got.Answer.String() != tt.want {
			t.Errorf("%s%v on %s: %v; want %s", tt.call, tt.args, tt.kernel, got.Answer, tt.want)
		}
		for _, n := range []string{"socketcall", "a_call_of_tomorrow"} {
			if !slices.Contains(unknown, n) {
				t.Errorf("%s is not told among %v", n, unknown)
			}
		}
	}
}

// An OCI object without choices is read as package load reads it.
func TestPlainOCI(t *testing.T) {
	tier, err := seccomp.Tier("default")
	if err != nil {
		t.Fatal(err)
	}

	o, err := seccomp.ExportOCI(tier)
	if err != nil {
		t.Fatal(err)
	}

	text, err := o.JSON()
	if err != nil {
		t.Fatal(err)
	}

	p, unknown := read(t, string(text), "6.1")
	if err := seccomp.Validate(p); err != nil || len(unknown) > 0 {
		t.Errorf("%v, %v", err, unknown)
	}

	for _, c := range seccomp.Diff(tier, p) {
		if c.Wider {
			t.Errorf("wider than what was exported: %v", c)
		}
	}
}

func TestRefusals(t *testing.T) {
	good := fixture(t)
	for _, tt := range []struct{ name, from, to, want string }{
		{"an unknown field", `"names": ["personality"]`, `"nmaes": ["personality"]`, "nmaes"},
		{"an unknown field of a choice", `"minKernel": "4.8"`, `"minkernl": "4.8"`, "minkernl"},
		{"a kernel that is none", `"minKernel": "4.8"`, `"minKernel": "new"`, `kernel version "new": write one such as 4.8`},
		{"two error numbers", `"errnoRet": 22, "errno": "EINVAL"`, `"errnoRet": 23, "errno": "EINVAL"`, "errno EINVAL is 22, and errnoRet is 23"},
		{"an error number that is none", `"defaultErrno": "ENOSYS"`, `"defaultErrno": "EWHAT"`, "EWHAT"},
		{"an action that is refused", `"SCMP_ACT_ERRNO", "args": []`, `"SCMP_ACT_TRACE", "args": []`, "SCMP_ACT_TRACE"},
		{"a listener", `"archMap"`, `"listenerPath": "/x", "archMap"`, "listenerPath"},
		{"flags", `"archMap"`, `"flags": ["x"], "archMap"`, "flags"},
		{"both lists of machines", `"archMap"`, `"architectures": ["SCMP_ARCH_X86_64"], "archMap"`, "exclude each other"},
		{"another machine", `SCMP_ARCH_X86_64`, `SCMP_ARCH_S390X`, "does not list this machine"},
		{"something behind it", "\t]\n}\n", "\t]\n}\nx", "follows"},
	} {
		text := strings.Replace(good, tt.from, tt.to, 1)
		if text == good {
			t.Fatalf("%s: the fault is not in the text", tt.name)
		}
		if _, _, err := Read("f.json", []byte(text), "6.1"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}

	if _, _, err := Read("f.json", make([]byte, 2<<20), "6.1"); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a large file: %v", err)
	}
}

// A comment, which becomes the reason of a rule, cannot send escapes to a terminal.
func TestCommentsAreReasonsThatCanBePrinted(t *testing.T) {
	p, _ := read(t, `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[{"names":["execve","exit_group"],"action":"SCMP_ACT_ALLOW","comment":"start\u001b[31m\nand end`+strings.Repeat("é", 400)+`"}]}`, "6.1")
	if err := seccomp.Validate(p); err != nil {
		t.Error(err)
	}
	if why := p.Rules[0].Why; !strings.HasPrefix(why, "entry 0 of the file: start [31m and end") || strings.ContainsAny(why, "\x1b\n") {
		t.Errorf("%q", why)
	}
}
