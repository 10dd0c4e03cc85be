package languages

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

// A Template is a started interpreter from which runs of the language may begin (docs/templates.md).
type Template struct {
	Kind   string         // one of templateKinds
	Trial  string         // a program of the language that prints the line "ready"; of kind java its class Trial
	Import string         // statements that it has executed in addition to the start; empty: none
	After  string         // statements that each run executes first, for what Import drew from randomness; empty: none
	When   *regexp.Regexp // it is for sources that match; nil: for every source
}

// yamlTemplate is the YAML form of a Template.
type yamlTemplate struct {
	Kind   string `yaml:"kind"`
	Trial  string `yaml:"trial"`
	Import string `yaml:"import"`
	After  string `yaml:"after"`
	When   string `yaml:"when"`
}

// templateKinds are the states of which brig can make a template: a started interpreter, and any
// program that the dynamic loader has started, before its first code.
var templateKinds = []string{"python", "loader", "ruby", "php", "node", "java"}

func templatesOf(all []yamlTemplate) (out []Template, err error) {
	for _, y := range all {
		t := Template{Kind: y.Kind, Trial: y.Trial, Import: y.Import, After: y.After}
		if t.Kind == "python" && t.Trial == "" {
			t.Trial = "print('ready')\n"
		}
		if t.Kind == "java" {
			class, err := base64.StdEncoding.DecodeString(t.Trial)
			if err != nil {
				return nil, fieldErrorf("templates", "templates: kind java needs trial: the file of the class Trial, whose main prints the line ready, in base64: %v", err)
			}
			t.Trial = string(class)
		}
		switch {
		case !slices.Contains(templateKinds, t.Kind):
			return nil, fieldErrorf("templates", "templates: kind %q: brig can make templates of the kinds %s", t.Kind, strings.Join(templateKinds, ", "))
		case t.Trial == "":
			return nil, fieldErrorf("templates", "templates: kind %s needs trial: a program of the language that prints the line ready", t.Kind)
		case t.Kind != "python" && t.Import+t.After != "":
			return nil, fieldErrorf("templates", "templates: kind %s has neither import nor after: they are for kind python", t.Kind)
		}
		if y.When != "" {
			if t.When, err = regexp.Compile(y.When); err != nil {
				return nil, fieldErrorf("templates", "templates: when %q: %v", y.When, err)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// TemplateFor returns the first template that is for a source.
func (l Manifest) TemplateFor(source []byte) (Template, bool) {
	for _, t := range l.Templates {
		if t.When == nil || t.When.Match(source) {
			return t, true
		}
	}
	return Template{}, false
}
