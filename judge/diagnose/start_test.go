package diagnose_test

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

// If a profile prevents the start of an interpreter, the hint names the profile and the calls.
// There is no such hint if something else may have prevented the start.
func TestAnInterpreterThatDoesNotStart(t *testing.T) {
	const (
		python = "Fatal Python error: Failed to import encodings module\nPython runtime state: core initialized\n" +
			"ModuleNotFoundError: No module named 'encodings'\n\nCurrent thread 0x00007efd999c9780 (most recent call " +
			"first):\n  <no Python frame>\n"
		node = "\n  #  node[2]: node::tracing::Agent::Agent() at ../src/tracing/agent.cc:55\n  #  Assertion " +
			"failed: (uv_loop_init(&tracing_loop_)) == (0)\n"
		loader = "python3: error while loading shared libraries: libm.so.6: cannot open shared object file: Operation not permitted\n"
		own    = "Traceback (most recent call last):\n  File \"/box/main.py\", line 1, in <module>\nNameError: name 'x' is not defined\n"
	)

	by := func(profile string, calls ...string) (out []api.Refusal) {
		for _, c := range calls {
			out = append(out, api.Refusal{Syscall: c, Profile: profile, Errno: "EPERM", Count: 1})
		}
		return out
	}

	for _, tt := range []struct {
		name, language string
		verdict        api.Verdict
		printed        string
		refused        []api.Refusal
		hit            []string
		want           string // text in the hint; empty: no such hint
	}{
		{"Python under strict", "python", api.Nonzero, python, by("strict", "getdents64"), nil,
			"python does not start under the profile strict, which is for compiled programs that only compute (it " +
				"refused getdents64): omit the profile"},
		{"Node under strict", "javascript", api.Signaled, node, by("strict", "capget", "epoll_create1"), nil,
			"(it refused capget, epoll_create1)"},
		{"a profile of one's own", "python", api.Nonzero, loader, by("mine", "openat"), nil,
			"python did not start: the profile mine refused openat. Allow the calls that it needs"},
		{"a command of an image", "", api.Nonzero, loader, by("mine", "openat"), nil, "the program did not start"},
		{"nothing was refused", "python", api.Nonzero, python, nil, nil, ""},
		{"a limit was met", "javascript", api.Signaled, node, by("mine", "capget"), []string{api.HitOpenFiles}, ""},
		{"the language's own profile", "javascript", api.Signaled, node, by("managed", "capget"), nil, ""},
		{"a fault of the source", "python", api.Nonzero, own, by("strict", "getdents64"), nil, ""},
	} {
		r := api.Result{Verdict: tt.verdict, ExitCode: 1, Stderr: []byte(tt.printed), Refused: tt.refused, LimitsHit: tt.hit}
		d := diagnose.Explain(tt.language, "main", nil, r)
		if d == nil || strings.Contains(d.Hint, "start") != (tt.want != "") || !strings.Contains(d.Hint, tt.want) {
			t.Errorf("%s: %+v; want a hint with %q", tt.name, d, tt.want)
		}
	}
}

func TestDeniedThreads(t *testing.T) {
	for _, call := range []string{"fork", "vfork", "clone", "clone3"} {
		d := diagnose.Explain("cpp", "main.cpp", nil,
			api.Result{Verdict: api.Denied, Denial: &api.Denial{Syscall: call, Rule: "mine#3", Why: "x"}})
		if d == nil || d.Hint != "the program may not start a process or thread here" {
			t.Errorf("%s: %+v", call, d)
		}
	}
}
