package languages

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Free flags reach the compiler and the interpreter as they are. What they make of the compiler is a program like any
// other, without privilege, in the sandbox of its stage.
func TestFreeFlags(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	for _, image := range []string{"cpp", "node", "python"} {
		harness.Images.Load(t, a, image)
	}

	const c = "#include <stdio.h>\n#include <math.h>\n"
	const strict = "console.log(process.execArgv.includes('--use_strict'))"
	const asked = "#!/bin/sh\n{ echo user $(id -u); grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; } >&2\nexit 1\n"
	evil := []api.File{{Name: "cc1", Content: []byte(asked), Executable: true}}
	for _, tt := range []struct {
		name    string
		run     api.Run
		verdict api.Verdict
		want    string // in what the program or the compiler wrote
	}{
		{"none", api.Run{Language: "c", Source: api.Bytes(c + "int main(void) { printf(\"%ld\\n\", __STDC_VERSION__); return 0; }")},
			api.OK, "201710\n"},
		{"-std=c89", api.Run{Language: "c", Source: api.Bytes("#ifdef __STDC_VERSION__\n#error newer\n#endif\n" +
			c + "int main(void) { puts(\"c89\"); return 0; }"),
			FreeFlags: api.FreeFlags{Compile: []string{"-std=c89"}}}, api.OK, "c89\n"},
		{"-x c, and -lm last", api.Run{Language: "c", Source: api.Bytes(c + "int main(int n, char **v) { printf(\"%.0f\\n\", sqrt(n + 8.0)); return 0; }"),
			SourceName: "prog.txt", FreeFlags: api.FreeFlags{Compile: []string{"-x", "c"}, Link: []string{"-lm"}}}, api.OK, "3\n"},
		{"no --use_strict", api.Run{Language: "javascript", Source: api.Bytes(strict)}, api.OK, "false\n"},
		{"--use_strict", api.Run{Language: "javascript", Source: api.Bytes(strict),
			FreeFlags: api.FreeFlags{Run: []string{"--use_strict"}}}, api.OK, "true\n"},
		{"-BE", api.Run{Language: "python", Source: api.Bytes("import sys; print(sys.flags.dont_write_bytecode, sys.flags.ignore_environment)"),
			FreeFlags: api.FreeFlags{Run: []string{"-BE"}}}, api.OK, "1 1\n"},
		{"CMP-21: a compiler of the caller's, not named", api.Run{Language: "c", Source: api.Bytes("int main(void) { return 0; }"), Files: evil},
			api.OK, ""},
		{"CMP-21: a compiler of the caller's", api.Run{Language: "c", Source: api.Bytes("int main(void) { return 0; }"), Files: evil,
			FreeFlags: api.FreeFlags{Compile: []string{"-B/box/"}}}, api.CompileError,
			"user 1000\nCapBnd:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"},
	} {
		tt.run.Limits.Wall = harness.Slowly(60)
		tt.run.Collect.None = true
		if tt.run.Language == "c" {
			tt.run.CompileLimits = api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}
		}
		res := a.MustRun(t, tt.run)
		said := string(res.Stdout) + string(res.Stderr)
		if strings.HasPrefix(tt.want, "user") { // the kernel has its own order
			for _, line := range strings.SplitAfter(tt.want, "\n") {
				if !strings.Contains(said, line) {
					t.Errorf("%s: it says %q; want %q in it", tt.name, said, line)
				}
			}
			tt.want = ""
		}
		if res.Verdict != tt.verdict || !strings.Contains(said, tt.want) {
			t.Errorf("%s: %s, %q; want %s, %q", tt.name, res.Verdict, said, tt.verdict, tt.want)
		}
		if len(tt.run.FreeFlags.Run) > 0 && (res.Host.Template || res.Host.Cold == "") {
			t.Errorf("%s: it began from a template, which has other flags: %+v", tt.name, res.Host)
		}
	}
}
