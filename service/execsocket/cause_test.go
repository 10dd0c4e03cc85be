package execsocket

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Whatever ended a program, and was not the program itself, is named.
func TestCauses(t *testing.T) {
	limits := api.Limits{Output: 16 * api.MiB, Wall: 30e9, CPU: 10e9, Memory: api.GiB}
	want := map[api.Verdict]string{
		api.OK: "", api.Nonzero: "", api.Signaled: "", api.CompileError: "",
		api.OutputLimit: "brig: output-limit: it wrote more than 16M to one stream: create the session with a larger exec_limits.output",
		api.WallLimit:   "brig: wall-limit: it ran for longer than 30s: create the session with a larger exec_limits.wall",
		api.CPULimit:    "brig: cpu-limit: it used more than 10s of processor time: create the session with a larger exec_limits.cpu",
		api.MemoryLimit: "brig: memory-limit: it wanted more than 1G of memory: create the session with a larger exec_limits.memory",
		api.Denied:      "brig: denied: the profile forbids the system call ptrace: it reads others",
		api.Canceled:    "brig: canceled: the session has ended: it was idle",
	}
	for _, v := range api.Verdicts() {
		res := api.Result{Verdict: v, Limits: limits}
		switch v {
		case api.Denied:
			res.Denial = &api.Denial{Syscall: "ptrace", Why: "it reads others"}
		case api.Canceled:
			res.SessionEnded = "it was idle"
		}
		if text, is := want[v]; !is || Cause(res) != text {
			t.Errorf("%s: %q; want %q", v, Cause(res), text)
		}
	}
	if got := Cause(api.Result{Verdict: api.Canceled}); got != "brig: canceled" {
		t.Errorf("%q", got)
	}
}
