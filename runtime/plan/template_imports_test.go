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
	known, err := languages.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	all, err := known.ByName("python-full")
	if err != nil {
		t.Fatal(err)
	}

	withoutPlain := all
	withoutPlain.Templates = all.Templates[:len(all.Templates)-1]
	source := func(name, text string) []api.File { return []api.File{{Name: name, Content: api.Bytes(text)}} }
	for _, tt := range []struct {
		name string
		run  api.Run
		lang languages.Manifest
		want string // a module that the template has imported; -: there is none
	}{
		{"no import", api.Run{Source: api.Bytes("print(1)")}, all, ""},
		{"an import", api.Run{Source: api.Bytes("import re")}, all, "re"},
		{"a file", api.Run{Source: api.Bytes("import re"), Files: source("helper.py", "")}, all, "re"},
		{"a file and modules of others", api.Run{Source: api.Bytes("import numpy"), Files: source("helper.py", "")}, all, ""},
		{"a file of a test", api.Run{Source: api.Bytes("import numpy"), Tests: []api.Test{{Files: source("x.py", "")}}}, all, ""},
		{"data of a test", api.Run{Source: api.Bytes("import numpy"), Tests: []api.Test{{Files: source("x.txt", "")}}}, all, "numpy"},
		{"a file without a plain template", api.Run{Source: api.Bytes("import numpy"), Files: source("x.py", "")}, withoutPlain, "-"},
		{"a source with a name", api.Run{Source: api.Bytes("import re"), SourceName: "solution.py"}, all, "re"},
		{"a source with the language's name", api.Run{Source: api.Bytes("import numpy"), SourceName: "main.py"}, all, "numpy"},
		{"a source with a name, and modules of others", api.Run{Source: api.Bytes("import numpy"), SourceName: "solution.py"}, all, ""},
		{"the source of calls", api.Run{Source: api.Bytes("import re"), Files: source("solution.py", "import numpy")}, all, "numpy"},
		{"the source of a checker", api.Run{Source: api.Bytes("import os"), Files: source("checker.py", "import re")}, all, "re"},
		{"the source of a wrapper with a name",
			api.Run{Source: api.Bytes("x = 1"), SourceName: ".wrapper.py", Files: source("main.py", "import re")}, all, "re"},
		{"its wrapper's imports", api.Run{Source: api.Bytes("import re"), Files: source("solution.py", "x = 1")}, all, "re"},
		{"a long source", api.Run{Source: api.Bytes("import re"),
			Files: source("solution.py", strings.Repeat("x\n", languages.MaxSearched))}, all, "re"},
		{"calls with a file", api.Run{Source: api.Bytes("import numpy"),
			Files: append(source("solution.py", "x = 1"), source("x.py", "")...)}, all, ""},
	} {
		got, ok := templateFor(tt.run, tt.lang)
		if ok != (tt.want != "-") || ok && (tt.want == "") != (got.WhenImports == nil) || ok && tt.want != "" && !got.WhenImports[tt.want] {
			t.Errorf("%s: %v, %v; want %q", tt.name, got.WhenImports, ok, tt.want)
		}
	}
}

// A run whose files could be taken for modules of Python's has the ordinary start.
func TestFilesWithNamesOfModules(t *testing.T) {
	for name, want := range map[string]string{
		"helper.py": "", "code/helper.py": "code", "heapq.py": "heapq", "lib/random.py": "random", "enum/x/y.py": "enum",
		"copyreg.cpython-313-x86_64-linux-gnu.so": "copyreg", "Random.py": "", "random2.py": "", ".re.py": "", "a-re.py": "",
	} {
		if got := standardModule([]string{"other.py", name}); got != want {
			t.Errorf("%s: %q; want %q", name, got, want)
		}
	}
}
