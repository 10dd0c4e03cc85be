package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func tier(t *testing.T) seccomp.Profile {
	t.Helper()
	p, err := seccomp.Tier("default")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSpecGolden(t *testing.T) {
	s, err := Spec(Config{Args: []string{"python3", "main.py"}, Env: map[string]string{"PYTHONUNBUFFERED": "1"},
		Limits: api.Defaults().Resolve(), Profile: tier(t)})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Linux.Seccomp.Syscalls) == 0 {
		t.Fatal("the filter has no rules")
	}

	s.Linux.Seccomp = nil // package seccomp has its own golden files for it
	got, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		t.Fatal(err)
	}

	got = append(got, '\n')
	const golden = "testdata/config.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("config.json differs from %s (-update writes it anew):\n%s", golden, got)
	}
}

func TestLimitsBecomeResources(t *testing.T) {
	l := api.Limits{Memory: 64 * api.MiB, Swap: api.MiB, CPUs: 0.5, Pids: 7, OpenFiles: 9, CPU: api.Duration(1500e6),
		Cpuset: "0", AddressSpace: api.GiB, Data: api.GiB, FileSize: api.MiB}.Over(api.Defaults()).Resolve()
	s, err := Spec(Config{Args: []string{"true"}, Limits: l, Profile: tier(t)})
	if err != nil {
		t.Fatal(err)
	}

	r := s.Linux.Resources
	if *r.Memory.Limit != 64<<20 || *r.Memory.Swap != 65<<20 {
		t.Errorf("memory %d and swap %d; want 64 MiB, and 65 with the swap", *r.Memory.Limit, *r.Memory.Swap)
	}
	if *r.CPU.Quota*2 != int64(*r.CPU.Period) || r.CPU.Cpus != "0" || *r.Pids.Limit != 7 {
		t.Errorf("quota %d of %d on %q, %d pids; want half, on 0, 7", *r.CPU.Quota, *r.CPU.Period, r.CPU.Cpus, *r.Pids.Limit)
	}

	for _, want := range []struct {
		name string
		v    uint64
	}{{"RLIMIT_NOFILE", 9}, {"RLIMIT_CPU", 4}, {"RLIMIT_CORE", 1}, {"RLIMIT_FSIZE", 1 << 20}} {
		found := false
		for _, got := range s.Process.Rlimits {
			found = found || got.Type == want.name && got.Soft == want.v && got.Hard == want.v
		}
		if !found {
			t.Errorf("%s is not %d: %+v", want.name, want.v, s.Process.Rlimits)
		}
	}
	for _, got := range s.Process.Rlimits {
		if got.Type == "RLIMIT_AS" || got.Type == "RLIMIT_DATA" {
			t.Errorf("runc would have %s itself", got.Type)
		}
	}
}

func TestProcShowsMoreOnlyWhenAsked(t *testing.T) {
	for _, full := range []bool{false, true} {
		s, err := Spec(Config{Args: []string{"true"}, Limits: api.Defaults().Resolve(), Profile: tier(t), FullProc: full})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(s.Mounts[0].Options, "subset=pid"); got == full {
			t.Errorf("full proc %v: subset=pid is %v", full, got)
		}
	}
}

func TestWriteCopiesTheTreeWhole(t *testing.T) {
	tree := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"plain": 0o644, "program": 0o755, "closed": 0o400} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.MkdirAll(filepath.Join(tree, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(tree, "a/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(tree, "a"), 0o555); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.Chmod(filepath.Join(tree, "a"), 0o755) })
	dir := filepath.Join(t.TempDir(), "b")
	s, err := Spec(Config{Args: []string{"true"}, Limits: api.Defaults().Resolve(), Profile: tier(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, tree, s); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.Chmod(filepath.Join(dir, Root, "a"), 0o755) })
	for name, want := range map[string]fs.FileMode{"plain": 0o644, "program": 0o755, "closed": 0o400, "a": fs.ModeDir | 0o555} {
		info, err := os.Lstat(filepath.Join(dir, Root, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v; want %v", name, info.Mode(), want)
		}
	}

	if target, err := os.Readlink(filepath.Join(dir, Root, "a/link")); err != nil || target != "/etc/passwd" {
		t.Errorf("link goes to %q, %v; want it as it was", target, err)
	}
	if err := Write(dir, tree, s); err == nil || !strings.Contains(err.Error(), "exist") {
		t.Errorf("writing over a bundle: %v; want a refusal", err)
	}
}

func TestWriteLeavesNothingBehindWhenItFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b")
	if err := Write(dir, filepath.Join(t.TempDir(), "absent"), nil); err == nil {
		t.Fatal("a tree that is not there was copied")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// Every bundle allows the calls that its runtime makes under the filter, and no other call that the
// profile refuses.
func TestOnlyTheRuntimesOwnCallsAreAdded(t *testing.T) {
	for _, runtime := range []Runtime{Runc, Crun} {
		for _, name := range append(seccomp.Tiers(), "refusing") {
			t.Run(string(runtime)+"/"+name, func(t *testing.T) { addsOnlyItsOwnCalls(t, runtime, name) })
		}
	}
}

func addsOnlyItsOwnCalls(t *testing.T, runtime Runtime, name string) {
	p := seccomp.Profile{Name: name, Default: seccomp.Fail(seccomp.EPERM), Rules: []seccomp.Rule{
		{Names: []string{"execve", "exit_group"}, Answer: seccomp.Allow(), Why: "to begin and end"},
		{Names: []string{"getdents64", "close", "ptrace"}, Answer: seccomp.Kill(), Why: "to see it refused by name"},
	}}
	if name != "refusing" {
		var err error
		if p, err = seccomp.Tier(name); err != nil {
			t.Fatal(err)
		}
	}

	wide, added := WithRuntimeCalls(p, runtime)
	if err := seccomp.Validate(wide); err != nil {
		t.Error(err)
	}

	before, after := seccomp.NewModel(p), seccomp.NewModel(wide)
	for nr := range int32(600) {
		call := seccomp.Call{Nr: nr, Arch: seccomp.AMD64.Audit()}
		was, is := before.Decide(call), after.Decide(call)
		own := slices.ContainsFunc(floors[runtime], func(c runtimeCall) bool { return c.name == is.Name })
		switch {
		case own && is.Answer != seccomp.Allow() && slices.Contains(added, is.Name):
			t.Errorf("%s is %v in a bundle; want it allowed", is.Name, is.Answer)
		case own && slices.Contains(added, is.Name) == allows(p, is.Name):
			t.Errorf("%s was %v, added are %v", is.Name, was.Answer, added)
		case !slices.Contains(added, is.Name) && was.Answer != is.Answer:
			t.Errorf("call %d was %v and is %v", nr, was.Answer, is.Answer)
		}
	}
}

// No tier needs a wider filter for crun; strict needs one for runc.
func TestTiersThatARuntimeWidens(t *testing.T) {
	for _, name := range seccomp.Tiers() {
		p, err := seccomp.Tier(name)
		if err != nil {
			t.Fatal(err)
		}

		var want []string
		if name == "strict" {
			want = []string{"fstatfs", "getdents64"}
		}
		if _, added := WithRuntimeCalls(p, Runc); !slices.Equal(added, want) {
			t.Errorf("runc adds %v to %s; want %v", added, name, want)
		}
		if _, added := WithRuntimeCalls(p, Crun); len(added) != 0 {
			t.Errorf("crun adds %v to %s; want nothing", added, name)
		}
	}
}

func TestParseRuntime(t *testing.T) {
	for name, want := range map[string]Runtime{"": Runc, "runc": Runc, "crun": Crun} {
		if got, err := ParseRuntime(name); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	for _, bad := range []string{"runsc", "Runc", "runc "} {
		if _, err := ParseRuntime(bad); err == nil || !strings.Contains(err.Error(), "use runc or crun") {
			t.Errorf("%q: %v; want a refusal that names runc and crun", bad, err)
		}
	}
}

func TestFindProgram(t *testing.T) {
	tree := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"usr/bin/run": 0o755, "usr/bin/text": 0o644, "opt/tool": 0o755} {
		if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}

	for name, to := range map[string]string{"bin": "usr/bin", "usr/bin/java": "/etc/alternatives/java"} {
		if err := os.Symlink(to, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		name, path string
		want       error
	}{
		{"run", "", nil}, {"/bin/run", "", nil}, {"java", "", nil}, {"/opt/tool", "", nil}, {"tool", "/opt", nil},
		{"tool", "", fs.ErrNotExist}, {"hello.py", "", fs.ErrNotExist}, {"./run", "", fs.ErrNotExist}, {"usr/bin/run", "", fs.ErrNotExist},
		{"../usr/bin/run", "", nil}, {"text", "", fs.ErrPermission}, {"/usr", "", fs.ErrNotExist},
	} {
		c := Config{Args: []string{tt.name}}
		if tt.path != "" {
			c.Env = map[string]string{"PATH": tt.path}
		}
		if err := FindProgram(tree, c); !errors.Is(err, tt.want) {
			t.Errorf("%s in PATH %q: %v; want %v", tt.name, tt.path, err, tt.want)
		}
	}
}
