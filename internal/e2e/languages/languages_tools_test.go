package languages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// testTools runs the program that exercises each tool of a full image on something small. It gets more
// time than the default, and nothing else.
func testTools(t *testing.T, b harness.Bench, l languages.Manifest, known harness.LanguageTest) {
	if len(known.Tools) == 0 {
		return
	}

	program := filepath.Join(harness.LanguagePrograms, l.Name, "tools"+filepath.Ext(l.SourceFile))
	source, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}

	var want string
	for _, name := range known.Tools {
		want += "ok " + name + "\n"
	}

	b.Test(t, "tools", func(t *testing.T) {
		prints(want)(t, l, b.MustRun(t, api.Run{
			Language: l.Name, Source: source,
			Limits: api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}, Collect: api.Collect{None: true},
		}))
	})
}
