package api_test

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestExtensionsOfSources(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "main": "", "a.py": "py", "d/MAIN.PY": "py", "x.c": "c", "x.C": "cc", ".C": "cc", "x.CPP": "cpp", "x.c++": "c++",
		"a.b.Ts": "ts", "d.ts/main": "", "x.": "",
	} {
		if got := api.Extension(name); got != want {
			t.Errorf("%q: %q; want %q", name, got, want)
		}
	}
}
