package languages

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A Go submission of several packages is compiled as its module, with nothing from elsewhere. A source alone is no module.
func TestModulesOfGo(t *testing.T) {
	if !harness.Chosen("go", false) {
		return
	}
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	harness.Images.Load(t, b.Agent, "go")

	const module, util = "module example.com/m\n\ngo 1.21\n", "package util\n\nfunc Twice(n int) int { return 2 * n }\n"
	const usesUtil = "package main\n\nimport \"example.com/m/util\"\n\nfunc main() { println(util.Twice(21)) }\n"
	for name, tt := range map[string]struct {
		main, source string
		files        map[string]string
		want         string // of stderr
		verdict      api.Verdict
	}{
		"a source alone": {"", "package main\n\nfunc main() { println(1) }\n", nil, "1\n", api.OK},
		"two files of one package": {"", "package main\n\nfunc main() { println(helper()) }\n",
			map[string]string{"helper.go": "package main\n\nfunc helper() int { return 7 }\n"}, "7\n", api.OK},
		"a package in a directory": {"", usesUtil, map[string]string{"go.mod": module, "util/util.go": util}, "42\n", api.OK},
		"its own tests, and an internal package": {"", strings.ReplaceAll(usesUtil, "/util", "/internal/util"),
			map[string]string{"go.mod": module, "internal/util/util.go": util, "internal/util/util_test.go": "package util\n",
				"main_test.go": "package main\n"}, "42\n", api.OK},
		"main in a directory": {"cmd/app/main.go", usesUtil, map[string]string{"go.mod": module, "util/util.go": util}, "42\n", api.OK},
		"a module within": {"", strings.ReplaceAll(usesUtil, "example.com/m/util", "example.com/lib"), map[string]string{
			"go.mod":     module + "\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n",
			"lib/go.mod": "module example.com/lib\n\ngo 1.21\n", "lib/util.go": util}, "42\n", api.OK},
		"a module from elsewhere": {"", strings.ReplaceAll(usesUtil, "example.com/m/util", "example.com/x"), map[string]string{
			"go.mod": module + "\nrequire example.com/x v1.0.0\n"}, "go.sum", api.CompileError},
		"a package of no module": {"", usesUtil, map[string]string{"util/util.go": util}, "cannot find package", api.CompileError},
	} {
		b.Test(t, name, func(t *testing.T) {
			r := api.Run{Language: "go", Source: api.Bytes(tt.source), SourceName: tt.main, Collect: api.Collect{None: true},
				Limits:        api.Limits{CPU: harness.Slowly(20), Wall: harness.Slowly(60)},
				CompileLimits: api.Limits{CPU: harness.Slowly(60), Wall: harness.Slowly(60)}}
			for name, content := range tt.files {
				r.Files = append(r.Files, api.File{Name: name, Content: api.Bytes(content)})
			}
			res := b.MustRun(t, r)
			if res.Verdict != tt.verdict || !strings.Contains(string(res.Stderr), tt.want) {
				t.Errorf("%s: stdout %s, stderr %s; want %s with %q", res.Verdict, res.Stdout, res.Stderr, tt.verdict, tt.want)
			}
		})
	}
}
