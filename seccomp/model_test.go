package seccomp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestDecideFollowsTheDocumentedOrder(t *testing.T) {
	p := Profile{Name: "order", Arch: AMD64, Default: Fail(EPERM), Rules: []Rule{
		{Names: []string{"fcntl"}, Answer: Fail(ENOSYS), Why: "fallback"},
		{Names: []string{"fcntl"}, Args: []ArgCond{eq(1, 7)}, Answer: Kill(), Why: "first answer"},
		{Names: []string{"fcntl"}, Args: []ArgCond{masked(1, 0xffffffff, 7)}, Answer: Fail(ENOTTY), Why: "second answer"},
		{Names: []string{"fcntl"}, Args: []ArgCond{eq(1, 7), eq(2, 1)}, Answer: Allow(), Why: "allow"},
		{Names: []string{"ioctl"}, Args: []ArgCond{eq(1, 1)}, Answer: Allow(), Why: "only one"},
	}}

	for _, tt := range []struct {
		name string
		call string
		args [6]uint64
		want Answer
		rule int
	}{
		{"a matching allow wins over earlier answers", "fcntl", [6]uint64{0, 7, 1}, Allow(), 3},
		{"the first matching answer is next", "fcntl", [6]uint64{0, 7, 2}, Kill(), 1},
		{"a masked answer ignores the bits outside its mask", "fcntl", [6]uint64{0, 1<<40 | 7}, Fail(ENOTTY), 2},
		{"the unconditional rule is next, at any position", "fcntl", [6]uint64{0, 8}, Fail(ENOSYS), 0},
		{"an exact condition compares all 64 bits", "ioctl", [6]uint64{0, 1<<32 | 1}, Fail(EPERM), FromDefault},
		{"a call without rules gets the default", "bpf", [6]uint64{}, Fail(EPERM), FromDefault},
	} {
		t.Run(tt.name, func(t *testing.T) {
			nr, ok := Number(tt.call, AMD64)
			if !ok {
				t.Fatalf("no number for %s", tt.call)
			}
			got := Decide(p, Call{Nr: nr, Arch: AMD64.Audit(), Args: tt.args})
			if got.Answer != tt.want || got.Rule != tt.rule || got.Name != tt.call || got.Why == "" {
				t.Errorf("got %+v; want %v by rule %d", got, tt.want, tt.rule)
			}
		})
	}
}

func TestForeignCallsAreKilledInEveryTier(t *testing.T) {
	for _, name := range Tiers() {
		p := tier(t, name)
		p.Arch = AMD64

		for _, c := range []Call{
			{Nr: 20, Arch: 0x40000003},                // int 0x80 getpid, SEC-04
			{Nr: 39 | X32Bit, Arch: AMD64.Audit()},    // x32 getpid, SEC-05
			{Nr: 172, Arch: ARM64.Audit()},            // another machine's getpid
			{Nr: -2, Arch: AMD64.Audit()},             // has the x32 bit too
			{Nr: 0x7fffffff, Arch: AMD64.Audit()},     // the largest number
			{Nr: 1<<30 | 1023, Arch: AMD64.Audit()},   // x32 above every table
			{Nr: 1 << 30, Arch: AMD64.Audit()},        // x32 read
			{Nr: 1<<30 | 512, Arch: AMD64.Audit()},    // x32's own numbers
			{Nr: -2147483648, Arch: AMD64.Audit()},    // the smallest number
			{Nr: 0, Arch: 0},                          // no architecture
			{Nr: 0, Arch: ^uint32(0)},                 // no such architecture
			{Nr: 0, Arch: AMD64.Audit() &^ (1 << 31)}, // 64-bit flag gone
		} {
			if got := Decide(p, c); got.Answer != Kill() || got.Rule != FromArch {
				t.Errorf("%s: %+v gets %+v; want kill", name, c, got)
			}
		}

		if got := Decide(p, Call{Nr: -1, Arch: AMD64.Audit()}); got.Answer != p.Default {
			t.Errorf("%s: number -1 gets %v; want the default", name, got.Answer)
		}
	}
}

// Numbers above the tables, up to the x32 numbers, get ENOSYS whatever the profile; in log
// mode they are notified. Unassigned numbers below, and -1, get the default.
func TestNewerCallsAreUnknownWhateverTheDefault(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		for _, def := range []Answer{Fail(EPERM), Fail(ENOTTY), Kill(), {Action: ActLog}} {
			p := tier(t, "default")
			p.Arch, p.Default = arch, def

			for _, q := range []Profile{p, LogMode(p)} {
				m, want := NewModel(q), Fail(ENOSYS)
				if q.Log {
					want = Kill()
				}

				for _, nr := range []int32{Newest(arch) + 1, 1023, 100_000, X32Bit - 1} {
					if got := m.Decide(Call{Nr: nr, Arch: arch.Audit()}); got.Answer != want || got.Rule != FromNewer || got.Why == "" {
						t.Errorf("%s on %s, default %s: call %d gets %+v; want %s", q.Name, arch, def, nr, got, want)
					}
				}

				for _, nr := range []int32{-1, 400} {
					if got := m.Decide(Call{Nr: nr, Arch: arch.Audit()}); got.Answer != q.Default || got.Rule != FromDefault {
						t.Errorf("%s on %s: call %d gets %+v; want the default, %s", q.Name, arch, nr, got, q.Default)
					}
				}
			}

			wide, last := Split(p)
			newer := Call{Nr: Newest(arch) + 1, Arch: arch.Audit()}
			if a, b := Decide(wide, newer), Decide(last, newer); a.Answer != Fail(ENOSYS) || b.Answer != Allow() {
				t.Errorf("on %s the wide part answers %+v, the last %+v; want ENOSYS and allow", arch, a, b)
			}
		}
	}
}

func TestNameKnowsBothTables(t *testing.T) {
	for _, tt := range []struct {
		nr   int32
		arch Arch
		want string
	}{
		{0, AMD64, "read"}, {63, ARM64, "read"}, {435, AMD64, "clone3"}, {435, ARM64, "clone3"},
		{335, AMD64, "uretprobe"}, {471, AMD64, "rseq_slice_yield"}, {39 | X32Bit, AMD64, ""}, {-1, AMD64, ""}, {9999, ARM64, ""}, {0, "vax", ""},
	} {
		if got := Name(tt.nr, tt.arch); got != tt.want {
			t.Errorf("Name(%d, %s) = %q; want %q", tt.nr, tt.arch, got, tt.want)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for _, name := range Tiers() {
		p := tier(t, name)
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}

		back, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p, back) {
			t.Errorf("%s changed on its way through JSON", name)
		}
		if Hash(p) != Hash(back) {
			t.Errorf("%s: the hash changed", name)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	good := `{"name":"x","default":{"action":"errno","errno":"EPERM"},"rules":[{"names":["execve","exit_group"],"action":"allow","why":"start"}]}`
	if _, err := Decode([]byte(good)); err != nil {
		t.Fatalf("a small profile: %v", err)
	}

	for _, tt := range []struct{ name, data, want string }{
		{"an unknown field", strings.Replace(good, `"why"`, `"wy":"","why"`, 1), "wy"},
		{"something behind it", good + "{}", "follows"},
		{"an unknown errno", strings.Replace(good, "EPERM", "EWHAT", 1), "EWHAT"},
		{"an empty profile", `{}`, "name"},
		{"no JSON", `profile`, "decode profile"},
		{"a negative argument", strings.Replace(good, `"action":"allow"`, `"args":[{"arg":-1,"value":0}],"action":"allow"`, 1), "arg"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want an error with %q", err, tt.want)
			}
		})
	}
}

func TestHashMeansBehaviour(t *testing.T) {
	p := tier(t, "strict")
	q := tier(t, "strict")
	q.Name = "another"
	q.Rules = slices.Clone(q.Rules)
	q.Rules[0].Why = "other words"
	if Hash(p) != Hash(q) {
		t.Error("a name or a reason changed the hash")
	}
	q.Default = Kill()
	if Hash(p) == Hash(q) {
		t.Error("another default has the same hash")
	}
}
