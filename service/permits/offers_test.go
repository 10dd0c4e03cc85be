package permits

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
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
		config   core.Config
		key      auth.Key
		language string
		names    []string
		index    string
		code     api.Code // empty: permitted
		want     string   // the index
	}{
		"none asked for":  {language: "python"},
		"not offered":     {language: "python", names: names, code: api.CodeUnsupported},
		"offered":         {config: core.Config{Packages: true}, language: "python", names: names},
		"an own index":    {config: core.Config{Indexes: own}, language: "py", names: names, want: "https://mirror.example.org/simple"},
		"of another kind": {config: core.Config{Indexes: own}, language: "ruby", names: names, code: api.CodeUnsupported},
		"both":            {config: core.Config{Packages: true, Indexes: own}, language: "ruby", names: names},
		"an index of a caller": {config: core.Config{Packages: true}, language: "python", names: names, index: "https://evil.test/",
			code: api.CodeForbidden},
		"an option":     {config: core.Config{Packages: true}, language: "python", names: []string{"--pre"}, code: api.CodeBadRequest},
		"a key without": {config: core.Config{Packages: true, Keys: new(auth.Keys)}, language: "python", names: names, code: api.CodeForbidden},
		"a key with": {config: core.Config{Packages: true, Keys: new(auth.Keys)}, key: auth.Key{Packages: true},
			language: "python", names: names},
	} {
		pm := &Permits{&core.Core{Config: tt.config}}
		pm.Agent.Languages = python
		index, err := pm.packages(core.Caller{Key: tt.key}, tt.language, tt.names, tt.index)
		if (err == nil) != (tt.code == "") || err != nil && !api.HasCode(err, tt.code) || index != tt.want {
			t.Errorf("%s: %q, %v; want %q, %q", name, index, err, tt.want, tt.code)
		}
	}
}

// While the languages are unknown, so is the index that the operator chose for a language: the public
// one must not answer instead.
func TestPackagesOfAnUnknownLanguage(t *testing.T) {
	known := []api.Language{{Name: "python", Packages: &api.LanguagePackages{Kind: api.PythonPackages}}, {Name: "bash"}}
	for name, tt := range map[string]struct {
		languages []api.Language
		language  string
		code      api.Code
	}{
		"none is known yet":      {nil, "python", api.CodeAgentUnreachable},
		"it does not exist":      {known, "phyton", api.CodeNoLanguage},
		"it has no packages":     {known, "bash", api.CodeBadRequest},
		"a control: it is known": {known, "python", ""},
	} {
		own := map[api.PackageKind]string{api.PythonPackages: "https://mirror.example.org/simple"}
		pm := &Permits{&core.Core{Config: core.Config{Packages: true, Indexes: own}}}
		pm.Agent.Languages = tt.languages
		index, err := pm.packages(core.Caller{}, tt.language, []string{"numpy"}, "")
		if tt.code == "" && (err != nil || index != own[api.PythonPackages]) || tt.code != "" && !api.HasCode(err, tt.code) {
			t.Errorf("%s: %q, %v; want %q", name, index, err, tt.code)
		}
	}
}
