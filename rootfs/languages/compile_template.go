package languages

import (
	"slices"
	"strings"
)

// A CompileTemplate is a compiler that has warmed up, from which the compile stages of a language begin
// (docs/templates.md).
type CompileTemplate struct {
	// WarmUp is the command of a program of the image that compiles sources of the image, and then opens the
	// file that the agent names last in the command: the template is written there.
	WarmUp []string

	// Trials are sources that must be compiled alike from the template and with the ordinary start.
	Trials []string

	// LackSays are texts that the compiler writes if it lacks stack or heap, which could have been enough with its
	// other start: one of them has the stage executed again that way. Empty: it writes nothing of that kind.
	LackSays []string
}

// yamlCompileTemplate is the YAML form of a CompileTemplate.
type yamlCompileTemplate struct {
	WarmUp   []string `yaml:"warm_up"`
	Trials   []string `yaml:"trials"`
	LackSays []string `yaml:"lack_says"`
}

// compileTemplateOf checks the template of a compile stage; nil is none.
func compileTemplateOf(y *yamlCompileTemplate, compile []string) (*CompileTemplate, error) {
	if y == nil {
		return nil, nil
	}

	t := &CompileTemplate{WarmUp: y.WarmUp, Trials: y.Trials, LackSays: y.LackSays}
	switch {
	case len(compile) == 0:
		return nil, fieldErrorf("compile_template", "compile_template is for the compile stage, but compile is missing")
	case len(t.WarmUp) == 0 || t.WarmUp[0] != compile[0]:
		return nil, fieldErrorf("compile_template",
			"compile_template: warm_up must be a command of the program that compile executes, %s", compile[0])
	case slices.ContainsFunc(t.LackSays, func(s string) bool { return len(s) < 10 }):
		return nil, fieldErrorf("compile_template", "compile_template: a text of lack_says needs at least 10 bytes")
	case len(t.Trials) == 0 || slices.ContainsFunc(t.Trials, func(s string) bool { return strings.TrimSpace(s) == "" }):
		return nil, fieldErrorf("compile_template",
			"compile_template needs trials: sources that are compiled from the template and with the ordinary start")
	}
	if err := checkPlaceholders("compile_template", t.WarmUp, sizePlaceholders, nil); err != nil {
		return nil, err
	}
	return t, nil
}
