package run

import (
	"bytes"
	"os"
	"reflect"
	"regexp"
	"testing"

	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/load"
)

// The example of docs/profiles.md is a valid profile, and gives the answers that the text states.
func TestDocumentedProfile(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := bytes.Cut(docs, []byte("```yaml\n"))
	text, _, ok := bytes.Cut(rest, []byte("```"))
	if !ok {
		t.Fatal("there is no example")
	}

	p, _, err := load.YAML("example.yaml", text)
	if err != nil {
		t.Fatal(err)
	}

	for call, want := range map[string]string{"ptrace": "allow", "process_vm_readv": "allow", "socketpair": "errno EPERM", "read": "allow",
		"mmap": "errno EACCES"} {
		nr, _ := seccomp.Number(call, p.Arch)
		if got := seccomp.Decide(p, seccomp.Call{Nr: nr, Arch: p.Arch.Audit(), Args: [6]uint64{2: 7}}).Answer.String(); got != want {
			t.Errorf("%s is %s; want %s", call, got, want)
		}
	}

	if p.Name != "lessons" {
		t.Errorf("name %q", p.Name)
	}

	// Every key that the reader knows is documented.
	source, err := os.ReadFile("../../../seccomp/load/yaml.go")
	if err != nil {
		t.Fatal(err)
	}

	for _, m := range regexp.MustCompile("yaml:\"([a-z]+)\"").FindAllSubmatch(source, -1) {
		if !bytes.Contains(docs, []byte("`"+string(m[1])+"`")) {
			t.Errorf("docs/profiles.md does not explain %s", m[1])
		}
	}
}

// A profile that is written in brig's own form is the same when it is read.
func TestYAMLIsReadBack(t *testing.T) {
	for _, name := range seccomp.Tiers() {
		p, err := seccomp.Tier(name)
		if err != nil {
			t.Fatal(err)
		}

		text, err := profileYAML(p)
		if err != nil {
			t.Fatal(err)
		}

		back, _, err := load.YAML(name, text)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !reflect.DeepEqual(back, p) {
			t.Errorf("%s is another when it is read back", name)
		}
	}

	hostile := seccomp.Profile{Name: "no", Default: seccomp.Fail(seccomp.EPERM), Rules: []seccomp.Rule{
		{Names: []string{"execve", "exit_group"}, Answer: seccomp.Allow(), Why: "yes: {a: [1, 'x\"]} # no"},
		{Names: []string{"ioctl"}, Args: []seccomp.ArgCond{{Index: 1, Value: 1<<64 - 1}, {Index: 2, Value: 0, Mask: 1 << 63}},
			Answer: seccomp.Allow(), Why: "2026-01-01"},
	}}

	text, err := profileYAML(hostile)
	if err != nil {
		t.Fatal(err)
	}
	if back, _, err := load.YAML("no", text); err != nil || !reflect.DeepEqual(back, hostile) {
		t.Errorf("%v\n%s", err, text)
	}
}
