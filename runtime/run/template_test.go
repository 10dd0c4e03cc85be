package run

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// A template of a compiler is refused for any difference between two compile stages; no number that a run measures is one.
func TestDifferencesOfATrialAreNamed(t *testing.T) {
	made := func(change func(*api.Result)) api.Result {
		r := api.Result{Verdict: api.OK, Stdout: []byte("a"), Stderr: []byte("b"),
			Files: []api.File{{Name: "classes/A", Content: []byte("1")}, {Name: "classes/B", Content: []byte("2")}}}
		change(&r)
		return r
	}

	for name, tt := range map[string]struct {
		change func(*api.Result)
		says   string
	}{
		"nothing":      {func(*api.Result) {}, ""},
		"time":         {func(r *api.Result) { r.Timing.Wall++; r.Usage.StdoutBytes++ }, ""},
		"a verdict":    {func(r *api.Result) { r.Verdict = api.Nonzero }, "verdict"},
		"an exit code": {func(r *api.Result) { r.ExitCode = 2 }, "exit code"},
		"stdout":       {func(r *api.Result) { r.Stdout = []byte("A") }, "prints"},
		"stderr":       {func(r *api.Result) { r.Stderr = []byte("B") }, "reports"},
		"a file more":  {func(r *api.Result) { r.Files = append(r.Files, api.File{Name: "C"}) }, "number of files"},
		"a file less":  {func(r *api.Result) { r.Files = r.Files[:1] }, "number of files"},
		"a name":       {func(r *api.Result) { r.Files[1].Name = "classes/C" }, "classes/B"},
		"a byte":       {func(r *api.Result) { r.Files[1].Content = []byte("3") }, "classes/B"},
		"a mode":       {func(r *api.Result) { r.Files[0].Executable = true }, "classes/A"},
	} {
		got := difference(made(func(*api.Result) {}), made(tt.change))
		if (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q; want %q", name, got, tt.says)
		}
	}
}
