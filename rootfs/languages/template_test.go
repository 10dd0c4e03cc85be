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
  - {kind: python, import: import numpy, after: "numpy.random.seed()", when: numpy}
  - {kind: loader, trial: echo ready}
`

func TestTemplatesOfAManifest(t *testing.T) {
	l, err := parse("x.yaml", []byte(withTemplates), nil)
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"import numpy": "print('ready')\n", "print(1)": "echo ready",
		strings.Repeat("\n", maxSearched-5) + "numpy": "print('ready')\n",
		strings.Repeat("\n", maxSearched) + "numpy":   "echo ready", // TPL-07: what the agent searches is bounded
	} {
		if got, ok := l.TemplateFor([]byte(source)); !ok || got.Trial != want {
			t.Errorf("%.40q: %+v, %v; want the trial %q", source, got, ok, want)
		}
	}
}

func TestMistakesInTemplatesAreReported(t *testing.T) {
	for old, tt := range map[string]struct{ new, says string }{
		"kind: loader":                    {"kind: perl", `kind "perl": brig can make templates of the kinds python, loader, ruby, php, node, java`},
		", trial: echo ready":             {"", "kind loader needs trial"},
		"kind: loader, trial: echo ready": {"kind: java, trial: echo ready", "in base64"},
		"trial: echo ready}":              {"trial: echo ready, arguments: [-ea]}", "no arguments"},
		"trial: echo ready":               {"trial: echo ready, import: x", "neither import nor after"},
		"when: numpy":                     {"when: '('", "when"},
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
