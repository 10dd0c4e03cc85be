package gateway

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/gateway/auth"
)

// The operator decides whether packages are installed, from which index, and for which keys.
func TestPermittedPackages(t *testing.T) {
	names := []string{"numpy"}
	python := []api.Language{
		{Name: "python", Aliases: []string{"py"}, Packages: &api.LanguagePackages{Kind: api.PythonPackages}},
		{Name: "ruby", Packages: &api.LanguagePackages{Kind: api.GemPackages}}, {Name: "bash"},
	}
	own := map[api.PackageKind]string{api.PythonPackages: "https://mirror.example.org/simple"}
	for name, tt := range map[string]struct {
		config   Config
		key      auth.Key
		language string
		names    []string
		index    string
		code     api.Code // empty: permitted
		want     string   // the index
	}{
		"none asked for":       {language: "python"},
		"not offered":          {language: "python", names: names, code: api.CodeUnsupported},
		"offered":              {config: Config{Packages: true}, language: "python", names: names},
		"an own index":         {config: Config{Indexes: own}, language: "py", names: names, want: "https://mirror.example.org/simple"},
		"of another kind":      {config: Config{Indexes: own}, language: "ruby", names: names, code: api.CodeUnsupported},
		"both":                 {config: Config{Packages: true, Indexes: own}, language: "ruby", names: names},
		"an index of a caller": {config: Config{Packages: true}, language: "python", names: names, index: "https://evil.test/", code: api.CodeForbidden},
		"an option":            {config: Config{Packages: true}, language: "python", names: []string{"--pre"}, code: api.CodeBadRequest},
		"a key without":        {config: Config{Packages: true, Keys: new(auth.Keys)}, language: "python", names: names, code: api.CodeForbidden},
		"a key with":           {config: Config{Packages: true, Keys: new(auth.Keys)}, key: auth.Key{Packages: true}, language: "python", names: names},
	} {
		g := &Gateway{cfg: tt.config}
		g.agent.languages = python
		index, err := g.permitPackages(caller{Key: tt.key}, tt.language, tt.names, tt.index)
		if (err == nil) != (tt.code == "") || err != nil && !api.HasCode(err, tt.code) || index != tt.want {
			t.Errorf("%s: %q, %v; want %q, %q", name, index, err, tt.want, tt.code)
		}
	}
}
