package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// tools runs the program that exercises each tool of a full image on something small. It gets more
// time than the default, and nothing else.
func (b bench) tools(t *testing.T, l languages.Manifest, known languageTest) {
	if len(known.tools) == 0 {
		return
	}

	program := filepath.Join(languagePrograms, l.Name, "tools"+filepath.Ext(l.SourceFile))
	source, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}

	var want string
	for _, name := range known.tools {
		want += "ok " + name + "\n"
	}

	b.test(t, "tools", func(t *testing.T) {
		prints(want)(t, l, b.run(t, api.Run{
			Language: l.Name, Source: source,
			Limits: api.Limits{Wall: slowly(60), CPU: slowly(60)}, Collect: api.Collect{None: true},
		}))
	})
}
