package languages

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Each extension that a language has is compiled and run, also where it decides of which form the source is. A name of
// Node in a TypeScript source is the source's own.
func TestSourcesOfEveryExtension(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	const own = "declare const process: any;\ndeclare function require(name: string): any;\nconst performance = require(\"perf_hooks\");\n" +
		"console.log(typeof process.argv, typeof performance);\n"
	const cpp = "#include <cstdio>\nint main() { std::puts(\"object object\"); }\n"
	for _, tt := range []struct{ language, image, name, source string }{
		{"typescript", "node", "main.ts", own}, {"typescript", "node", "sol.cts", own},
		{"typescript", "node", "sol.mts", "import * as os from \"node:os\";\nconsole.log(typeof os, typeof os);\n"},
		{"cpp", "cpp", "sol.C", cpp}, {"cpp", "cpp", "sol.c++", cpp}, {"cpp", "cpp", "sol.cxx", cpp},
		{"python", "python", "sol.pyw", "print('object', 'object')\n"}, {"python", "python", "sol.py3", "print('object', 'object')\n"},
	} {
		if !harness.Chosen(tt.language, false) {
			continue
		}
		harness.Images.Load(t, b.Agent, tt.image)
		b.Test(t, tt.name, func(t *testing.T) {
			r := api.Run{Language: tt.language, Source: api.Bytes(tt.source), SourceName: tt.name, Collect: api.Collect{None: true},
				Limits: api.Limits{CPU: harness.Slowly(20), Wall: harness.Slowly(60)}}
			if tt.language != "python" { // it has no compile stage
				r.CompileLimits = api.Limits{CPU: harness.Slowly(60), Wall: harness.Slowly(60)}
			}
			res := b.MustRun(t, r)
			if got := string(res.Stdout); res.Verdict != api.OK || got != "object object\n" && got != "object function\n" {
				t.Errorf("%s: %s%s", res.Verdict, res.Stdout, res.Stderr)
			}
		})
	}
}
