package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Which compile stages begin from a template, and why others do not.
func TestCompileTemplateRules(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*api.Run)
		cold   string // empty: it begins from a template
	}{
		"as it is":        {func(*api.Run) {}, ""},
		"flags":           {func(r *api.Run) { r.Flags = []string{"-Xlint"} }, ""},
		"flags of others": {func(r *api.Run) { r.FreeFlags.Compile = []string{"-processor", "X"} }, ""},
		"limits":          {func(r *api.Run) { r.CompileLimits = api.Limits{CPU: api.Duration(1e9), Pids: 64} }, ""},
		"another memory":  {func(r *api.Run) { r.CompileLimits.Memory = 512 * api.MiB }, "memory"},
		"few processes":   {func(r *api.Run) { r.CompileLimits.Pids = 16 }, "pids"},
		"half a cpu":      {func(r *api.Run) { r.CompileLimits.CPUs = 0.5 }, "cpus"},
		"asked":           {func(r *api.Run) { r.NoTemplate = true }, "asks"},
		"fresh":           {func(r *api.Run) { r.Mode = api.Fresh }, "mode fresh"},
		"an image":        {func(r *api.Run) { r.Image = "java" }, "image"},
	} {
		t.Run(name, func(t *testing.T) {
			pl := allLanguages(t)
			pl.CompileTemplates, pl.TemplateDrivers = true, TemplateDrivers(map[string][]byte{compileDriver: []byte("driver")})
			r := api.Run{Language: "java", Source: api.Bytes("class Main {}")}
			tt.change(&r)
			got := jobOf(t, pl, r).Compile
			if (got.Template != nil) != (tt.cold == "") || !strings.Contains(got.Cold, tt.cold) {
				t.Errorf("%+v, %q; want %q", got.Template, got.Cold, tt.cold)
			}
		})
	}
}

// TPL-15. Nothing of a request is in the stages that make and try the template of a compiler: two requests that have nothing in
// common have the same template. Control: another image of the language has another one.
func TestHostileNothingOfARequestIsInACompileTemplate(t *testing.T) {
	pl := allLanguages(t)
	pl.CompileTemplates, pl.TemplateDrivers = true, TemplateDrivers(map[string][]byte{compileDriver: []byte("driver")})
	one := jobOf(t, pl, api.Run{Language: "java", Source: api.Bytes("class Main {}")}).Compile.Template
	other := jobOf(t, pl, api.Run{Language: "java", Source: api.Bytes("HOSTILE"), SourceName: "HOSTILE.java", Flags: []string{"-Xlint"},
		FreeFlags: api.FreeFlags{Compile: []string{"-HOSTILE"}}, Env: map[string]string{"LD_PRELOAD": "HOSTILE"}, Stdin: api.Bytes("HOSTILE"),
		Files: []api.File{{Name: "HOSTILE", Content: []byte("HOSTILE")}}, CompileLimits: api.Limits{Pids: 99}}).Compile.Template
	if one.Key != other.Key {
		t.Error("two requests have two templates")
	}

	for _, p := range append([]*Run{other.Make}, other.Alike...) {
		text := strings.Join(slices.Concat(p.Argv, p.Env), " ") + string(p.Stdin)
		for _, f := range p.Files {
			text += f.Name + string(f.Content)
		}
		if strings.Contains(text, "HOSTILE") || p.Limits.Pids == 99 {
			t.Errorf("%q, %+v", text, p.Limits)
		}
	}
	if last := other.Make.Argv[len(other.Make.Argv)-1]; last != templateMark || len(other.Alike) < 2 {
		t.Errorf("the last argument is %q, and there are %d trials", last, len(other.Alike))
	}

	changed := *other.Make
	changed.Cell.Key.Image = "sha256:other"
	if templateKey(&changed, pl.TemplateDrivers[compileDriver], "") == templateKey(other.Make, pl.TemplateDrivers[compileDriver], "") {
		t.Error("another image has the same template")
	}
}
