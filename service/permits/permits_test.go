package permits

import (
	"errors"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

func TestKeyLimits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		key    auth.Key
		l      api.Limits
		preset string
		all    bool
		want   api.Limits
		code   api.Code
	}{
		{name: "no bounds, nothing asked"},
		{name: "no bounds: the agent has its ceiling", l: api.Limits{Weight: 4096, CPUs: 8}, want: api.Limits{Weight: 4096, CPUs: 8}},
		{name: "what is open is at most the bound", key: auth.Key{Weight: 100, CPUs: 0.5}, want: api.Limits{Weight: 100, CPUs: 0.5}},
		{name: "bounds above the defaults change nothing", key: auth.Key{Weight: 2048, CPUs: 2}},
		{name: "a preset's own is kept", key: auth.Key{CPUs: 0.7}, preset: "hardened"},
		{name: "as much as the bound", key: auth.Key{Weight: 100, CPUs: 2}, l: api.Limits{Weight: 100, CPUs: 2},
			want: api.Limits{Weight: 100, CPUs: 2}},
		{name: "more weight", key: auth.Key{Weight: 100}, l: api.Limits{Weight: 101}, code: api.CodeAboveCeiling},
		{name: "more processors", key: auth.Key{CPUs: 1}, l: api.Limits{CPUs: 1.5}, code: api.CodeAboveCeiling},
		{name: "processors by name", l: api.Limits{Cpuset: "0"}, code: api.CodeForbidden},
		{name: "processors by name, with admin", l: api.Limits{Cpuset: "0"}, all: true, want: api.Limits{Cpuset: "0"}},
	} {
		got, err := Limit(core.Caller{Key: tt.key}, tt.l, tt.preset, tt.all)
		var e *api.Error
		switch {
		case tt.code == "" && (err != nil || got != tt.want):
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		case tt.code != "" && (!errors.As(err, &e) || e.Code != tt.code):
			t.Errorf("%s: %v; want %s", tt.name, err, tt.code)
		}
	}
}

// The limits of a key apply to each part of a run. For a language without a compile stage no
// compile limits are set (CPU-13).
func TestKeyLimitsApplyToEveryPartOfARun(t *testing.T) {
	pm := &Permits{&core.Core{Agent: core.AgentStatus{Languages: []api.Language{{Name: "c", CompileTier: "compile"}, {Name: "python"}}}}}
	k := auth.Key{Weight: 100}
	for name, r := range map[string]api.Run{
		"the run":   {Limits: api.Limits{Weight: 200}},
		"a test":    {Tests: []api.Test{{}, {Limits: api.Limits{Weight: 200}}}},
		"a compile": {Language: "c", Source: api.Bytes("x"), CompileLimits: api.Limits{Weight: 200}},

		"a checker":               {Check: &api.Check{Program: api.Program{Limits: api.Limits{Weight: 200}}}},
		"a checker's compile":     {Check: &api.Check{Program: api.Program{CompileLimits: api.Limits{Weight: 200}}}},
		"an interactor":           {Interactor: &api.Interactor{Program: api.Program{Limits: api.Limits{Weight: 200}}}},
		"an interactor's compile": {Interactor: &api.Interactor{Program: api.Program{CompileLimits: api.Limits{Weight: 200}}}},
	} {
		if _, err := pm.Run(core.Caller{Key: k}, r); err == nil {
			t.Errorf("%s has more than its key", name)
		}
	}

	for language, want := range map[string]int64{"c": 100, "python": 0} {
		r, err := pm.Run(core.Caller{Key: k}, api.Run{Language: language, Source: api.Bytes("x")})
		if err != nil || r.Limits.Weight != 100 || r.CompileLimits.Weight != want {
			t.Errorf("%s: %+v, %+v, %v", language, r.Limits, r.CompileLimits, err)
		}

		p := api.Program{Language: language, Source: api.Bytes("x")}
		r, err = pm.Run(core.Caller{Key: k}, api.Run{Check: &api.Check{Program: p}, Interactor: &api.Interactor{Program: p}})
		if err != nil {
			t.Fatal(err)
		}

		for _, p := range []api.Program{r.Check.Program, r.Interactor.Program} {
			if p.Limits.Weight != 100 || p.CompileLimits.Weight != want {
				t.Errorf("%s: %+v, %+v", language, p.Limits, p.CompileLimits)
			}
		}
	}
}

// A run that names no mode has its key's mode; a run that names a mode has that one.
func TestModeOfAKey(t *testing.T) {
	pm := &Permits{new(core.Core)}
	for _, tt := range []struct{ key, asked, want api.Mode }{
		{"", "", ""}, {"", api.Fresh, api.Fresh}, {api.Exclusive, "", api.Exclusive}, {api.Exclusive, api.Strict, api.Strict},
	} {
		r, err := pm.Run(core.Caller{Key: auth.Key{Mode: tt.key}}, api.Run{Mode: tt.asked})
		if err != nil || r.Mode != tt.want {
			t.Errorf("key %q, asked %q: %q, %v; want %q", tt.key, tt.asked, r.Mode, err, tt.want)
		}
	}
}

// With free flags a compiler may execute a program of the caller under the compiler's profile, so the key must be
// allowed that profile (CMP-21).
func TestFreeFlagsNeedTheProfileOfTheCompiler(t *testing.T) {
	pm := &Permits{&core.Core{Agent: core.AgentStatus{Languages: []api.Language{{Name: "c", CompileTier: "compile", Tier: "default"}}}}}
	flag := []string{"-x"}
	for _, tt := range []struct {
		name    string
		key     auth.Key
		flags   api.FreeFlags
		refused bool
	}{
		{"no keys", auth.Key{}, api.FreeFlags{Compile: flag}, false},
		{"a plain key", auth.Key{Name: "a"}, api.FreeFlags{Compile: flag}, true},
		{"a plain key, at the end", auth.Key{Name: "a"}, api.FreeFlags{Link: flag}, true},
		{"another profile", auth.Key{Name: "a", Profiles: "managed"}, api.FreeFlags{Link: flag}, true},
		{"the compiler's profile", auth.Key{Name: "a", Profiles: "compile"}, api.FreeFlags{Compile: flag, Link: flag}, false},
		{"an interpreter's, which has the run's profile", auth.Key{Name: "a"}, api.FreeFlags{Run: flag}, false},
		{"none", auth.Key{Name: "a"}, api.FreeFlags{}, false},
	} {
		r := api.Run{Language: "c", Source: api.Bytes("x"), FreeFlags: tt.flags}
		_, err := pm.Run(core.Caller{Key: tt.key}, r)
		if (err != nil) != tt.refused || err != nil && !api.HasCode(err, api.CodeForbidden) {
			t.Errorf("%s: %v; refused is to be %v", tt.name, err, tt.refused)
		}
	}
}

// OWN-11: a key may have sessions that own their image if the operator says so.
func TestOwnImageIsAPermissionOfAKey(t *testing.T) {
	for _, tt := range []struct {
		key     auth.Key
		allowed bool
	}{
		{auth.Key{Name: "ann"}, false}, {auth.Key{Name: "boss", Admin: true}, false},
		{auth.Key{Name: "bob", OwnImage: true}, true}, {auth.Key{}, true}, // without keys, every caller may do everything
	} {
		c := core.Caller{Key: tt.key}
		err := mayOwnImage(c, true)
		if (err == nil) != tt.allowed || err != nil && !strings.Contains(err.Error(), "own_image: true on the key "+tt.key.Name) {
			t.Errorf("key %q: %v", tt.key.Name, err)
		}
		if err := mayOwnImage(c, false); err != nil {
			t.Errorf("key %q, a session that does not ask: %v", tt.key.Name, err)
		}
	}
}
