package languages

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
)

// A Template is a started interpreter from which runs of the language may begin (docs/templates.md).
type Template struct {
	Kind   string // one of templateKinds
	Trial  string // a program of the language that prints the line "ready"; of kind java its class Trial
	Import string // statements that it has executed in addition to the start; empty: none
	After  string // statements that each run executes first, for what Import drew from randomness; empty: none

	Standard    bool            // of kind python: it imports modules of Python's standard library, and no others
	WhenImports map[string]bool // of kind python: it is for sources that import one of these modules; nil: for every source

	Arguments []string // of kind java: what the compile stage writes to classes/.main before the main class
}

// yamlTemplate is the YAML form of a Template.
type yamlTemplate struct {
	Kind   string `yaml:"kind"`
	Trial  string `yaml:"trial"`
	Import string `yaml:"import"`
	After  string `yaml:"after"`

	WhenImports []string `yaml:"when_imports"`

	Arguments []string `yaml:"arguments"`
}

// javaTrial is by javac -g:none --release 8:
//
//	class Trial { public static void main(String[] a) { System.out.println("ready"); } }
const javaTrial = "yv66vgAAADQAGgoAAgADBwAEDAAFAAYBABBqYXZhL2xhbmcvT2JqZWN0AQAGPGluaXQ+AQADKClWCQAIAAkHAAoMAAsADAEAEGphdmEvbGFuZy9TeXN0ZW0BAANvdXQBABVMamF2YS9pby9QcmludFN0cmVhbTsIAA4BAAVyZWFkeQoAEAARBwASDAATABQBABNqYXZhL2lvL1ByaW50U3RyZWFtAQAHcHJpbnRsbgEAFShMamF2YS9sYW5nL1N0cmluZzspVgcAFgEABVRyaWFsAQAEQ29kZQEABG1haW4BABYoW0xqYXZhL2xhbmcvU3RyaW5nOylWACAAFQACAAAAAAACAAAABQAGAAEAFwAAABEAAQABAAAABSq3AAGxAAAAAAAJABgAGQABABcAAAAVAAIAAQAAAAmyAAcSDbYAD7EAAAAAAAA="

// templateKinds are the states of which brig can make a template: a started interpreter, and any
// program that the dynamic loader has started, before its first code.
var templateKinds = []string{"python", "loader", "ruby", "php", "node", "java"}

func templatesOf(all []yamlTemplate) (out []Template, err error) {
	for _, y := range all {
		t := Template{Kind: y.Kind, Trial: y.Trial, Import: y.Import, After: y.After, Arguments: y.Arguments}
		if t.Kind == "python" && t.Trial == "" {
			t.Trial = "print('ready')\n"
		}

		if t.Kind == "java" {
			if t.Arguments == nil {
				t.Arguments = []string{"-ea"}
			}
			class, err := base64.StdEncoding.DecodeString(cmp.Or(t.Trial, javaTrial))
			if err != nil {
				return nil, fieldErrorf("templates",
					"templates: trial of kind java is the file of the class Trial, whose main prints the line ready, in base64: %v",
					err)
			}
			t.Trial = string(class)
		}

		switch {
		case !slices.Contains(templateKinds, t.Kind):
			return nil, fieldErrorf("templates", "templates: kind %q: brig can make templates of the kinds %s", t.Kind,
				strings.Join(templateKinds, ", "))
		case t.Trial == "":
			return nil, fieldErrorf("templates",
				"templates: kind %s needs trial: a program of the language that prints the line ready", t.Kind)
		case t.Kind != "java" && t.Arguments != nil:
			return nil, fieldErrorf("templates", "templates: kind %s has no arguments: they are for kind java", t.Kind)
		case t.Kind != "python" && (t.Import+t.After != "" || y.WhenImports != nil):
			return nil, fieldErrorf("templates",
				"templates: kind %s has no import, after or when_imports: they are for kind python", t.Kind)
		}

		for _, name := range y.WhenImports {
			if !moduleName().MatchString(name) {
				return nil, fieldErrorf("templates", "templates: when_imports: %q is not the name of a module without a dot", name)
			}
			if t.WhenImports == nil {
				t.WhenImports = map[string]bool{}
			}
			t.WhenImports[name] = true
		}

		if t.WhenImports != nil && t.Import == "" {
			t.Import = "import " + strings.Join(y.WhenImports, ", ")
			t.Standard = !slices.ContainsFunc(y.WhenImports, func(name string) bool { return !standardModules()[name] })
		}

		out = append(out, t)
	}

	return out, nil
}

// MaxSearched is how much of a source decides which template is for it. The agent searches it, and no
// limit of the run pays for that (TPL-07).
const MaxSearched = 32 << 10

// TemplateFor returns the first template that is for a source, by its first 32 KiB.
func (l Manifest) TemplateFor(source []byte) (Template, bool) {
	source = source[:min(len(source), MaxSearched)]
	for _, t := range l.Templates {
		if t.WhenImports == nil || importsAny(source, t.WhenImports) {
			return t, true
		}
	}
	return Template{}, false
}
