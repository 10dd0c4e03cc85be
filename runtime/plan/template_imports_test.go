package plan

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A template with imports is for sources that import one of its modules, and for no run with a file that the import
// could mean.
func TestTemplatesByImports(t *testing.T) {
	plain, usual, numpy := languages.Template{}, languages.Template{Import: "import re", WhenImports: map[string]bool{"re": true}}, languages.Template{Import: "import numpy", WhenImports: map[string]bool{"numpy": true}}
	all := languages.Manifest{Templates: []languages.Template{numpy, usual, plain}}
	source := func(name, text string) []api.File { return []api.File{{Name: name, Content: api.Bytes(text)}} }
	for _, tt := range []struct {
		name string
		run  api.Run
		lang languages.Manifest
		want string // what the template has imported; -: there is none
	}{
		{"no import", api.Run{Source: api.Bytes("print(1)")}, all, ""},
		{"an import", api.Run{Source: api.Bytes("import re")}, all, "import re"},
		{"a file", api.Run{Source: api.Bytes("import re"), Files: source("re.py", "")}, all, ""},
		{"a file of a test", api.Run{Source: api.Bytes("import re"), Tests: []api.Test{{Files: source("x.py", "")}}}, all, ""},
		{"data of a test", api.Run{Source: api.Bytes("import re"), Tests: []api.Test{{Files: source("x.txt", "")}}}, all, "import re"},
		{"a file without a plain template", api.Run{Source: api.Bytes("import re"), Files: source("re.py", "")}, languages.Manifest{Templates: []languages.Template{usual}}, "-"},
		{"the source of calls", api.Run{Source: api.Bytes("import re"), Files: source("solution.py", "import numpy")}, all, "import numpy"},
		{"the source of a checker", api.Run{Source: api.Bytes("import os"), Files: source("checker.py", "import re")}, all, "import re"},
		{"its wrapper's imports", api.Run{Source: api.Bytes("import re"), Files: source("solution.py", "x = 1")}, all, "import re"},
		{"a long source", api.Run{Source: api.Bytes("import re"), Files: source("solution.py", strings.Repeat("x\n", languages.MaxSearched))}, all, "import re"},
		{"calls with a file", api.Run{Source: api.Bytes("import re"), Files: append(source("solution.py", "x = 1"), source("re.py", "")...)}, all, ""},
	} {
		got, ok := templateFor(tt.run, tt.lang)
		if ok != (tt.want != "-") || ok && got.Import != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got.Import, ok, tt.want)
		}
	}
}
