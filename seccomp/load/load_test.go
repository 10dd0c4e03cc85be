package load

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
)

func decide(p seccomp.Profile, name string, args ...uint64) seccomp.Answer {
	nr, _ := seccomp.Number(name, p.Arch)
	c := seccomp.Call{Nr: nr, Arch: p.Arch.Audit()}
	copy(c.Args[:], args)
	return seccomp.Decide(p, c).Answer
}

func TestYAMLExtendsATier(t *testing.T) {
	p, _, err := YAML("mine.yaml", []byte(`
name: mine
extends: default
remove: [socketpair]
append:
  - names: [ptrace]
    action: allow
    why: debugging lessons
  - names: [mmap]
    args: [{arg: 2, mask: 6, value: 6}]
    action: errno
    errno: EACCES
    why: no memory that is writable and executable
`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "mine" {
		t.Errorf("name %q", p.Name)
	}

	for _, tt := range []struct {
		call string
		args []uint64
		want string
	}{
		{"ptrace", nil, "allow"},
		{"socketpair", []uint64{1, 1}, "errno EPERM"},
		{"mmap", []uint64{0, 0, 6}, "errno EACCES"},
		{"mmap", []uint64{0, 0, 7 | 1<<40}, "errno EACCES"},
		{"mmap", []uint64{0, 0, 5}, "allow"},
		{"keyctl", nil, "kill"},
	} {
		if got := decide(p, tt.call, tt.args...); got.String() != tt.want {
			t.Errorf("%s%v: %s; want %s", tt.call, tt.args, got, tt.want)
		}
	}
}

func TestYAMLWholeProfile(t *testing.T) {
	p, _, err := YAML("tiny",
		[]byte("default: {action: kill}\nrules:\n- names: [execve, exit_group, write]\n  action: allow\n  why: say "+
			"hello\n- names: [ioctl]\n  args: [{arg: 1, value: 0x5401}]\n  action: allow\n  why: terminals\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "tiny" || decide(p, "read") != seccomp.Kill() || decide(p, "ioctl", 0, 0x5401) != seccomp.Allow() {
		t.Errorf("%+v", p)
	}
}

func TestYAMLRefusals(t *testing.T) {
	rule := "extends: strict\nappend:\n- names: [fork]\n  action: allow\n  why: x\n"
	for _, tt := range []struct{ name, data, want string }{
		{"an unknown field, with its line", "extends: strict\nappned: []\n", "line 2: field appned not found"},
		{"an unknown field of a rule", rule + "- names: [fork]\n  acton: allow\n", "line 7: field acton"},
		{"an unknown call, with its rule's line", rule + "- names: [frok]\n  action: allow\n  why: x\n", `line 6: unknown system call "frok"`},
		{"an unknown tier", "extends: lax\n", `"lax"`},
		{"two documents", rule + "---\n" + rule, "second document"},
		{"an empty file", "", "empty"},
		{"rules next to extends", "extends: strict\nrules: [{names: [fork], action: allow, why: x}]\n", "exclude each other"},
		{"append without extends", "append: [{names: [fork], action: allow, why: x}]\n", "need extends"},
		{"no default", "rules: [{names: [fork], action: allow, why: x}]\n", "default is missing"},
		{"removing what is not there", "extends: strict\nremove: [frok]\n", `"frok"`},
		{"a condition without a value", "extends: strict\nappend:\n- {names: [fork], args: [{arg: 1}], action: allow, why: x}\n",
			"needs arg and value"},
		{"a negative value", "extends: strict\nappend:\n- {names: [fork], args: [{arg: 1, value: -1}], action: allow, why: x}\n",
			"line 3: `-1` where a whole number, not negative, is needed"},
		{"rules that are no list", "extends: strict\nappend: {names: [fork]}\n", "line 2: a mapping (name: value) where a list is needed"},
		{"two mistakes in one line each", "extends: [x]\nremove: y\n", "line 1: a list where text is needed; line 2: " +
			"`y` where a list is needed"},
		{"an unknown error number", "extends: strict\nappend:\n- {names: [fork], action: errno, errno: EWHAT, why: x}\n", "EWHAT"},
		{"a whole page of aliases", "a: &a [x]\nb: *a\n", "field a not found"},
		{"execve removed", "extends: strict\nremove: [execve]\n", "execve is not allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := YAML("f.yaml", []byte(tt.data))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "load.") {
				t.Errorf("%v; want an error with %q", err, tt.want)
			}
		})
	}
}

// A profile exported for other runtimes can be read again, and means the same.
func TestOCIRoundTrip(t *testing.T) {
	o := seccomp.OCI{DefaultAction: "SCMP_ACT_ERRNO", Architectures: []string{"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_AARCH64"},
		Syscalls: []seccomp.OCISyscall{
			{Names: []string{"execve", "exit_group"}, Action: "SCMP_ACT_ALLOW"},
			{Names: []string{"personality"}, Action: "SCMP_ACT_ALLOW", Args: []seccomp.OCIArg{{Index: 0, Value: 8, Op: "SCMP_CMP_EQ"}}},
			{Names: []string{"clone"}, Action: "SCMP_ACT_ALLOW", Args: []seccomp.OCIArg{{Index: 0, Value: 0x7e020000, Op: "SCMP_CMP_MASKED_EQ"}}},
		}}

	data, err := o.JSON()
	if err != nil {
		t.Fatal(err)
	}

	p, err := OCI("x.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if decide(p, "personality", 8) != seccomp.Allow() || decide(p, "personality", 9) != seccomp.Fail(seccomp.EPERM) ||
		decide(p, "clone", 0x10000000) != seccomp.Fail(seccomp.EPERM) {
		t.Errorf("%+v", p)
	}

	again, err := seccomp.ExportOCI(p)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Syscalls, o.Syscalls) {
		t.Errorf("exported %+v; want %+v", again.Syscalls, o.Syscalls)
	}
}

func TestOCIRefusals(t *testing.T) {
	good := `{"defaultAction":"SCMP_ACT_ERRNO","syscalls":[
{"names":["execve","exit_group"],"action":"SCMP_ACT_ALLOW"},
{"names":["socket"],"action":"SCMP_ACT_ALLOW","args":[{"index":0,"value":1,"op":"SCMP_CMP_EQ"}]}]}`
	if _, err := OCI("good", []byte(good)); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct{ name, from, to, want string }{
		{"a range of nothing", `"value":1,"op":"SCMP_CMP_EQ"`, `"value":0,"op":"SCMP_CMP_LT"`,
			"syscalls[1]: argument 0: SCMP_CMP_LT 0 matches no value: leave the entry out"},
		{"a range of everything", `"value":1,"op":"SCMP_CMP_EQ"`, `"value":0,"op":"SCMP_CMP_GE"`,
			"SCMP_CMP_GE 0 matches every value: leave the condition out"},
		{"a range next to a not-equal", `"args":[`, `"args":[{"index":1,"value":2,"op":"SCMP_CMP_GT"},{"index":2,"value":2,"op":"SCMP_CMP_NE"},`,
			"SCMP_CMP_NE together with other"},
		{"a comparison that is none", "SCMP_CMP_EQ", "SCMP_CMP_GTE", "SCMP_CMP_GTE"},
		{"a not-equal next to another comparison", `"args":[`, `"args":[{"index":1,"value":2,"op":"SCMP_CMP_NE"},`,
			"SCMP_CMP_NE together with other"},
		{"an unknown field, with its line", `"op":`, `"opp":`, "line 3"},
		{"an engine's own format", `"syscalls"`, `"archMap":[],"syscalls"`, "archMap"},
		{"a listener", `"syscalls"`, `"listenerPath":"/run/x","syscalls"`, "listenerPath"},
		{"flags", `"syscalls"`, `"flags":["SECCOMP_FILTER_FLAG_SPEC_ALLOW"],"syscalls"`, "flags"},
		{"a trace action", `"SCMP_ACT_ERRNO"`, `"SCMP_ACT_TRACE"`, "SCMP_ACT_TRACE"},
		{"allow as default", `"SCMP_ACT_ERRNO"`, `"SCMP_ACT_ALLOW"`, "list of what is allowed"},
		{"two conditions on one argument", `"args":[`, `"args":[{"index":0,"value":2,"op":"SCMP_CMP_EQ"},`, "two conditions"},
		{"another machine", `"syscalls"`, `"architectures":["SCMP_ARCH_S390X"],"syscalls"`, "SCMP_ARCH_S390X"},
		{"something behind it", "]}]}", "]}]}x", "follows"},
		{"no errno", `"action":"SCMP_ACT_ALLOW","args"`, `"action":"SCMP_ACT_ERRNO","errnoRet":0,"args"`, "errno 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := strings.Replace(good, tt.from, tt.to, 1)
			if data == good {
				t.Fatal("the fault is not in the text")
			}
			_, err := OCI("f.json", []byte(data))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v; want an error with %q", err, tt.want)
			}
		})
	}
}

// A file is refused or gives a valid profile, whatever it contains.
func FuzzYAMLIsValidOrRefused(f *testing.F) {
	f.Add([]byte("extends: strict\nappend:\n- names: [fork]\n  action: allow\n  why: x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _, err := YAML("fuzz", data)
		if err != nil {
			return
		}
		if err := seccomp.Validate(p); err != nil {
			t.Errorf("read a profile that is not valid: %v", err)
		}
	})
}

// sameAnswers compares two profiles for every call: with each argument set to the value of
// each condition of both, to that value plus one, and with more or other bits.
func sameAnswers(t *testing.T, what string, a, b seccomp.Profile) {
	t.Helper()
	values := map[string][6][]uint64{}
	for _, p := range []seccomp.Profile{a, b} {
		for _, r := range p.Rules {
			for _, n := range r.Names {
				v := values[n]
				for _, c := range r.Args {
					v[c.Index] = append(v[c.Index], c.Value, c.Value+1, c.Value|1<<40, c.Value^c.Mask, c.Value|^c.Mask)
				}
				values[n] = v
			}
		}
	}

	ma, mb := seccomp.NewModel(a), seccomp.NewModel(b)
	for nr := range int32(600) {
		v := values[seccomp.Name(nr, a.Arch)]
		calls := []seccomp.Call{{Nr: nr, Arch: a.Arch.Audit()}}
		for i := range v {
			for _, c := range calls {
				for _, value := range append(v[i], 7, ^uint64(0)) {
					c.Args[i] = value
					calls = append(calls, c)
				}
				if len(calls) > 1000 {
					break
				}
			}
		}

		for _, c := range calls {
			x, y := ma.Decide(c).Answer, mb.Decide(c).Answer
			if x == seccomp.Count() { // other runtimes count nothing
				x = seccomp.Allow()
			}
			if x != y {
				t.Errorf("%s: %s%v: %v, and read back %v", what, seccomp.Name(nr, a.Arch), c.Args, x, y)
				break
			}
		}
	}
}

// The export of every tier can be read back, and means the same for every call.
func TestTiersAreReadBack(t *testing.T) {
	for _, name := range seccomp.Tiers() {
		tier, err := seccomp.Tier(name)
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

		back, err := OCI(name+".json", text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}

		sameAnswers(t, name, tier, back)
	}
}

func TestNotEqual(t *testing.T) {
	const head = `{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,"syscalls":[{"names":["execve","exit_group"],"action":"SCMP_ACT_ALLOW"},`
	ne := func(call, action string, rest ...string) string {
		return `{"names":["` + call + `"],"action":"` + action + `","args":[` + strings.Join(rest, ",") + `]}`
	}
	cond := func(index, value, op string) string {
		return `{"index":` + index + `,"value":` + value + `,"op":"SCMP_CMP_` + op + `"}`
	}
	enosys := seccomp.Fail(seccomp.ENOSYS)
	for _, tt := range []struct {
		name, entries string
		args          []uint64
		want          seccomp.Answer
	}{
		{"another value", ne("socket", "SCMP_ACT_ALLOW", cond("0", "40", "NE")), []uint64{1}, seccomp.Allow()},
		{"the value", ne("socket", "SCMP_ACT_ALLOW", cond("0", "40", "NE")), []uint64{40}, enosys},
		{"the value with more bits", ne("socket", "SCMP_ACT_ALLOW", cond("0", "40", "NE")), []uint64{40 | 1<<40}, seccomp.Allow()},
		{"two in one entry, one equal", ne("socket", "SCMP_ACT_ALLOW", cond("0", "16", "NE"), cond("2", "9", "NE")), []uint64{16, 0, 1}, enosys},
		{"two in one entry, none equal", ne("socket", "SCMP_ACT_ALLOW", cond("0", "16", "NE"), cond("2", "9", "NE")),
			[]uint64{1, 0, 1}, seccomp.Allow()},
		{"two entries, one equal",
			ne("socket", "SCMP_ACT_ALLOW", cond("0", "16", "NE")) + "," + ne("socket", "SCMP_ACT_ALLOW", cond("2", "9", "NE")),
			[]uint64{16, 0, 1}, seccomp.Allow()},
		{"two entries, both equal",
			ne("socket", "SCMP_ACT_ALLOW", cond("0", "16", "NE")) + "," + ne("socket", "SCMP_ACT_ALLOW", cond("2", "9", "NE")),
			[]uint64{16, 0, 9}, enosys},
		{"two entries, and a third that answers what they leave",
			ne("socket", "SCMP_ACT_KILL", cond("0", "16", "EQ"), cond("2", "9", "EQ")) + "," +
				ne("socket", "SCMP_ACT_ALLOW", cond("0", "16", "NE")) + "," + ne("socket", "SCMP_ACT_ALLOW", cond("2", "9", "NE")),
			[]uint64{16, 0, 9}, seccomp.Kill()},
		{"two values of one argument in two entries are all",
			ne("socket", "SCMP_ACT_ALLOW", cond("0", "1", "NE")) + "," + ne("socket", "SCMP_ACT_ALLOW", cond("0", "2", "NE")),
			[]uint64{1}, seccomp.Allow()},
		{"behind equals it is for the rest",
			ne("prctl", "SCMP_ACT_ALLOW", cond("0", "3", "EQ")) + "," + ne("prctl", "SCMP_ACT_ALLOW", cond("0", "5", "EQ")) + "," +
				ne("prctl", "SCMP_ACT_KILL", cond("0", "3", "NE")), []uint64{5}, seccomp.Allow()},
		{"and for nothing else",
			ne("prctl", "SCMP_ACT_ALLOW", cond("0", "3", "EQ")) + "," + ne("prctl", "SCMP_ACT_ALLOW", cond("0", "5", "EQ")) + "," +
				ne("prctl", "SCMP_ACT_KILL", cond("0", "3", "NE")), []uint64{6}, seccomp.Kill()},
	} {
		var o seccomp.OCI
		if err := json.Unmarshal([]byte(head+tt.entries+"]}"), &o); err != nil {
			t.Fatal(err)
		}

		p, err := Convert("x.json", o, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}

		call := "socket"
		if strings.Contains(tt.entries, "prctl") {
			call = "prctl"
		}
		if got := decide(p, call, tt.args...); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}

// If a call has an entry without conditions and others with conditions, libseccomp 2.5.4
// applies the one without, in either order. runc does not pass it on if it equals the default.
func TestOCIEntryWithoutConditionsWins(t *testing.T) {
	some := seccomp.OCISyscall{Names: []string{"clone", "fork"}, Action: "SCMP_ACT_ALLOW",
		Args: []seccomp.OCIArg{{Index: 0, Value: 17, Op: "SCMP_CMP_EQ"}}}
	enosys, eperm := uint(38), uint(1)
	for _, tt := range []struct {
		name       string
		all        seccomp.OCISyscall
		want, rest seccomp.Answer // for arguments that satisfy the condition, and for others
	}{
		{"kill", seccomp.OCISyscall{Names: []string{"clone"}, Action: "SCMP_ACT_KILL_PROCESS"}, seccomp.Kill(), seccomp.Kill()},
		{"an error", seccomp.OCISyscall{Names: []string{"clone"}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &enosys}, seccomp.Fail(seccomp.ENOSYS),
			seccomp.Fail(seccomp.ENOSYS)},
		{"the default", seccomp.OCISyscall{Names: []string{"clone"}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &eperm}, seccomp.Allow(),
			seccomp.Fail(seccomp.EPERM)},
		{"log", seccomp.OCISyscall{Names: []string{"clone"}, Action: "SCMP_ACT_LOG"}, seccomp.Answer{Action: seccomp.ActLog},
			seccomp.Answer{Action: seccomp.ActLog}},
	} {
		for _, entries := range [][]seccomp.OCISyscall{{some, tt.all}, {tt.all, some}} {
			o := seccomp.OCI{DefaultAction: "SCMP_ACT_ERRNO",
				Syscalls: append(entries, seccomp.OCISyscall{Names: []string{"execve", "exit_group"}, Action: "SCMP_ACT_ALLOW"})}
			data, err := o.JSON()
			if err != nil {
				t.Fatal(err)
			}

			p, err := OCI("x.json", data)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			if got, rest := decide(p, "clone", 17), decide(p, "clone", 18); got != tt.want || rest != tt.rest {
				t.Errorf("%s: %v and %v; want %v and %v", tt.name, got, rest, tt.want, tt.rest)
			}
			if got := decide(p, "fork", 17); got != seccomp.Allow() {
				t.Errorf("%s: fork, of the same entry, is %v", tt.name, got)
			}
		}
	}
}
