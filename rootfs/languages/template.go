package languages

import (
	"regexp"
	"slices"
)

// A Template is a started interpreter from which runs of the language may begin (docs/templates.md).
type Template struct {
	Kind   string         // "python"
	Import string         // statements that it has executed in addition to the start; empty: none
	After  string         // statements that each run executes first, for what Import drew from randomness; empty: none
	When   *regexp.Regexp // it is for sources that match; nil: for every source
}

// yamlTemplate is the YAML form of a Template.
type yamlTemplate struct {
	Kind   string `yaml:"kind"`
	Import string `yaml:"import"`
	After  string `yaml:"after"`
	When   string `yaml:"when"`
}

// templateKinds are the interpreters of which brig can make a template.
var templateKinds = []string{"python"}

func templatesOf(all []yamlTemplate) (out []Template, err error) {
	for _, y := range all {
		t := Template{Kind: y.Kind, Import: y.Import, After: y.After}
		if !slices.Contains(templateKinds, t.Kind) {
			return nil, fieldErrorf("templates", "templates: kind %q: brig can make templates of %s", t.Kind, templateKinds[0])
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
