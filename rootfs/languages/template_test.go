package languages

import (
	"strings"
	"testing"
)

const withTemplates = `name: x
image: x
source_file: x.x
run: [x, "{source}"]
templates:
  - {kind: python, import: import numpy, after: "numpy.random.seed()", when_imports: [numpy]}
  - {kind: loader, trial: echo ready}
`

func TestTemplatesOfAManifest(t *testing.T) {
	l, err := parse("x.yaml", []byte(withTemplates), nil)
	if err != nil {
		t.Fatal(err)
	}

	for source, want := range map[string]string{
		"import numpy": "print('ready')\n", "print(1)": "echo ready",
		strings.Repeat("\n", MaxSearched-12) + "import numpy": "print('ready')\n",
		strings.Repeat("\n", MaxSearched) + "import numpy":    "echo ready", // TPL-07: what the agent searches is bounded
	} {
		if got, ok := l.TemplateFor([]byte(source)); !ok || got.Trial != want {
			t.Errorf("%.40q: %+v, %v; want the trial %q", source, got, ok, want)
		}
	}
}

func TestMistakesInTemplatesAreReported(t *testing.T) {
	for old, tt := range map[string]struct{ new, says string }{
		"kind: loader": {"kind: perl",
			`kind "perl": brig can make templates of the kinds python, loader, ruby, php, node, java`},
		", trial: echo ready":             {"", "kind loader needs trial"},
		"kind: loader, trial: echo ready": {"kind: java, trial: echo ready", "in base64"},
		"trial: echo ready}":              {"trial: echo ready, arguments: [-ea]}", "no arguments"},
		"trial: echo ready":               {"trial: echo ready, import: x", "no import, after or when_imports"},
		"[numpy]":                         {"[numpy.random]", `when_imports: "numpy.random" is not the name of a module without a dot`},
		"ready}":                          {"ready, when_imports: [x]}", "no import, after or when_imports"},
		"{kind: loader, trial":            {"{kind: loader, attempt", "attempt"},
	} {
		text := strings.Replace(withTemplates, old, tt.new, 1)
		if text == withTemplates {
			t.Fatalf("%q is not in the manifest", old)
		}
		if _, err := parse("x.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v; want %q", tt.new, err, tt.says)
		}
	}
}

// A template imports the modules that it is for, unless it says what it imports.
func TestTemplatesImportWhatTheyAreFor(t *testing.T) {
	for says, want := range map[string]string{
		"when_imports: [re, json]":                           "import re, json",
		"when_imports: [numpy], import: import numpy.random": "import numpy.random",
	} {
		text := strings.Replace(withTemplates, `import: import numpy, after: "numpy.random.seed()", when_imports: [numpy]`, says, 1)
		l, err := parse("x.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Templates[0].Import; got != want {
			t.Errorf("%s: %q; want %q", says, got, want)
		}
	}
}

func TestSourcesThatImport(t *testing.T) {
	for source, want := range map[string]bool{
		"import re":                           true,
		"import re\n":                         true,
		"import re\r\n":                       true,
		"x = 1\n\timport\tre as r\n":          true,
		"from re import compile":              true,
		"from collections.abc import Mapping": true,
		"import collections.abc":              true,
		"import sys, re":                      true,
		"import sys as s, re as r # both":     true,
		"import sys; import re":               true,
		"import re; x = 1":                    true,
		"import re#":                          true,
		"import re\\\n":                       true,
		"":                                    false,
		"import":                              false,
		"import ":                             false,
		"from ":                               false,
		"import sys":                          false,
		"importre":                            false,
		"import regex":                        false,
		"import x.re":                         false,
		"from x import re":                    false,
		"from x import y, re":                 false,
		"from . import re":                    false,
		"# import re":                         false,
		"x = 'import re'":                     false,
		"import re2, sys":                     false,
		"import sys,":                         false,
		"import sys, # re":                    false,
		"reimport re":                         false,
		"import import re":                    false,
		"x = 1 ;\t import re":                 true,
	} {
		if got := importsAny([]byte(source), map[string]bool{"re": true, "collections": true}); got != want {
			t.Errorf("%q: %v; want %v", source, got, want)
		}
	}
}

// The search that the agent does for each run of Python.
func BenchmarkTemplateFor(b *testing.B) {
	all, err := Load("", nil)
	if err != nil {
		b.Fatal(err)
	}

	l, err := all.ByName("python-full")
	if err != nil {
		b.Fatal(err)
	}

	for name, source := range map[string]string{
		"hello": "print('hello')\n", "code": strings.Repeat("for i in range(10): print(i, a[i])\n", 1000),
		"newlines": strings.Repeat("\n", MaxSearched),
		"imports":  strings.Repeat("import a,b,c,d;", 3000),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l.TemplateFor([]byte(source))
			}
		})
	}
}
