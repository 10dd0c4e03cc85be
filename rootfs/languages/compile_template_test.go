package languages

import (
	"strings"
	"testing"
)

const withCompileTemplate = `name: x
image: x
source_file: x.x
compile: [cc, "{source}"]
artifacts: [out]
run: [x]
compile_template:
  warm_up: [cc, --warm-up, "-m{heap_mib}"]
  trials: [right, wrong]
`

func TestMistakesInCompileTemplatesAreReported(t *testing.T) {
	l, err := parse("x.yaml", []byte(withCompileTemplate), nil)
	if err != nil || len(l.CompileTemplate.WarmUp) != 3 || len(l.CompileTemplate.Trials) != 2 {
		t.Fatalf("%+v, %v", l.CompileTemplate, err)
	}

	for old, tt := range map[string]struct{ new, says string }{
		"  trials: [right, wrong]":    {"", "needs trials"},
		"[right, wrong]":              {`[right, " "]`, "needs trials"},
		"warm_up: [cc":                {"warm_up: [sh", "the program that compile executes, cc"},
		"{heap_mib}":                  {"{source}", "{source} is not allowed here"},
		"compile: [cc, \"{source}\"]": {"syntax: [x]", "compile is missing"},
		"trials:":                     {"tests:", "tests"},
	} {
		text := strings.Replace(withCompileTemplate, old, tt.new, 1)
		if strings.HasPrefix(tt.new, "syntax") {
			text = strings.Replace(strings.Replace(text, "artifacts: [out]\n", "", 1), "run: [x]", `run: [x, "{source}"]`, 1)
		}
		if _, err := parse("x.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v; want %q", tt.new, err, tt.says)
		}
	}
}

// A language that extends another has its compiler's template, unless it has another command to compile: the template would
// compile as the command of the other does.
func TestAnotherCommandHasNoTemplateOfTheCompiler(t *testing.T) {
	for text, want := range map[string]bool{
		"name: mine\nextends: java\n":           true,
		"name: mine\nextends: java\nrun: [x]\n": true,
		"name: mine\nextends: java\ncompile: [java, -cp, /x, Other, \"{flags}\", \"{sources}\"]\n": false,
	} {
		l, err := parse("mine.yaml", []byte(text), nil)
		if err != nil || (l.CompileTemplate != nil) != want {
			t.Errorf("%q: %+v, %v; want one: %v", text, l.CompileTemplate, err, want)
		}
	}
}
