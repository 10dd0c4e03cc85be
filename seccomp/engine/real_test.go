package engine

import (
	"os"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

// The profiles that Docker and Podman ship are read and compared. testdata/README.md says where
// they are from.
func TestRealProfilesAreReadAndCompared(t *testing.T) {
	type call struct {
		name string
		args []uint64
		want string
	}

	for _, tt := range []struct {
		file    string
		unknown string // a call of another machine that is in the file
		runs    bool   // the profile can be used for a run, too
		calls   []call
	}{
		{"moby.json", "chown32", true, []call{
			{"read", nil, "allow"},
			{"socket", []uint64{0}, "allow"}, // AF_UNSPEC, AF_UNIX and AF_INET: less than 3
			{"socket", []uint64{1}, "allow"},
			{"socket", []uint64{2}, "allow"},
			{"socket", []uint64{3}, "errno EPERM"}, // AF_AX25
			{"socket", []uint64{1 << 32}, "errno EPERM"},
			{"socket", []uint64{10}, "allow"},       // AF_INET6
			{"socket", []uint64{38}, "errno EPERM"}, // AF_ALG
			{"socket", []uint64{40}, "errno EPERM"}, // AF_VSOCK
			{"clone", []uint64{0x10000000}, "errno EPERM"},
			{"keyctl", nil, "errno EPERM"},
		}},
		{"containers-common.json", "socketcall", false, []call{
			{"read", nil, "allow"},
			{"socket", []uint64{2, 1, 0}, "allow"},
			{"socket", []uint64{16, 3, 9}, "errno EINVAL"}, // NETLINK_AUDIT
			{"socket", []uint64{16, 3, 0}, "allow"},
			{"keyctl", nil, "allow"},
			{"bpf", nil, "errno EPERM"},
		}},
	} {
		text, err := os.ReadFile("testdata/" + tt.file)
		if err != nil {
			t.Fatal(err)
		}

		p, unknown, err := Read(tt.file, text, "6.12")
		if err != nil {
			t.Error(err)
			continue
		}
		if err := seccomp.Validate(p); (err == nil) != tt.runs {
			t.Errorf("%s: usable for a run: %v; want %v", tt.file, err, tt.runs)
		}
		if !slices.Contains(unknown, tt.unknown) {
			t.Errorf("%s: %s is not among %v", tt.file, tt.unknown, unknown)
		}

		m := seccomp.NewModel(p)
		for _, c := range tt.calls {
			nr, _ := seccomp.Number(c.name, p.Arch)
			k := seccomp.Call{Nr: nr, Arch: p.Arch.Audit()}
			copy(k.Args[:], c.args)
			if got := m.Decide(k).Answer.String(); got != c.want {
				t.Errorf("%s: %s%v: %s; want %s", tt.file, c.name, c.args, got, c.want)
			}
		}

		tier, err := seccomp.Tier("default")
		if err != nil {
			t.Fatal(err)
		}

		wider := 0
		for _, d := range seccomp.Diff(tier, p) {
			if d.Wider {
				wider++
			}
		}

		if wider < 20 {
			t.Errorf("%s: only %d calls are wider than in tier default", tt.file, wider)
		}
	}
}
