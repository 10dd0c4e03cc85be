package plan

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A template whose command has the sizes of heap and stack exists for few pairs of them.
func TestUsualSizes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		run      api.Limits
		language api.Limits
		ceiling  api.Limits
		want     bool
	}{
		{name: "nothing asked", want: true},
		{name: "the least power of two", run: api.Limits{Memory: 64 * api.MiB}, want: true},
		{name: "the largest", run: api.Limits{Memory: api.GiB}, want: true},
		{name: "a smaller one", run: api.Limits{Memory: 32 * api.MiB}},
		{name: "a larger one", run: api.Limits{Memory: 2 * api.GiB}},
		{name: "no power of two", run: api.Limits{Memory: 100 * api.MiB}},
		{name: "what the language has", language: api.Limits{Memory: 300 * api.MiB}, want: true},
		{name: "what the ceiling leaves", ceiling: api.Limits{Memory: 200 * api.MiB}, want: true},
		{name: "a stack", run: api.Limits{Stack: 8 * api.MiB}},
		{name: "the stack that it would have anyway", run: api.Limits{Memory: 128 * api.MiB, Stack: 128 * api.MiB}, want: true},
		{name: "the stack of the language", language: api.Limits{Stack: 8 * api.MiB}, want: true},
	} {
		pl := &Planner{Ceiling: tt.ceiling}
		lang := Language{}
		lang.Limits = tt.language
		limits, err := EffectiveLimits(tt.run, "", tt.language, tt.ceiling)
		if err != nil {
			t.Fatal(err)
		}
		if got := pl.usualSizes(lang, limits); got != tt.want {
			t.Errorf("%s: %v; want %v: %+v", tt.name, got, tt.want, limits)
		}
	}
}

// A run has room for the threads and descriptors of its template, and the stack that it knows.
func TestTemplateTakes(t *testing.T) {
	usual := api.Limits{Stack: 8 * api.MiB, Pids: 100, OpenFiles: 256}
	with := func(change func(*api.Limits)) api.Limits {
		l := usual
		change(&l)
		return l
	}

	for _, tt := range []struct {
		name     string
		template Template
		run      api.Limits
		want     bool
	}{
		{"any stack", Template{}, usual, true},
		{"a stack that reaches the libraries", Template{}, with(func(l *api.Limits) { l.Stack = 2 * maxStack }), false},
		{"its stack", Template{stack: 8 * api.MiB}, usual, true},
		{"another stack", Template{stack: 16 * api.MiB}, usual, false},
		{"one process, without threads", Template{}, with(func(l *api.Limits) { l.Pids = 1 }), true},
		{"the descriptors that restore needs", Template{}, with(func(l *api.Limits) { l.OpenFiles = 5 }), true},
		{"fewer descriptors", Template{}, with(func(l *api.Limits) { l.OpenFiles = 4 }), false},
		{"one process, with threads", Template{threads: true}, with(func(l *api.Limits) { l.Pids = 1 }), false},
		{"few files, with threads", Template{threads: true}, with(func(l *api.Limits) { l.OpenFiles = 16 }), false},
		{"its memory", Template{memory: api.GiB}, with(func(l *api.Limits) { l.Memory = api.GiB }), true},
		{"another memory", Template{memory: api.GiB}, with(func(l *api.Limits) { l.Memory = 512 * api.MiB }), false},
		{"enough of both", Template{threads: true}, usual, true},
		{"files of any size", Template{}, with(func(l *api.Limits) { l.FileSize = api.KiB }), true},
		{"any limit on what a process maps", Template{}, with(func(l *api.Limits) { l.AddressSpace = 1 << 50 }), false},
		{"any limit on data", Template{}, with(func(l *api.Limits) { l.Data = 1 << 50 }), false},
	} {
		if got := tt.template.takes(tt.run); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}

// A variable that an interpreter or a library reads at its start makes a run cold: its own kind's only.
func TestVariablesOfAStart(t *testing.T) {
	for variable, kinds := range map[string]map[string]bool{
		"OPENSSL_CONF":         {"python": true, "php": true, "node": true},
		"SSL_CERT_FILE":        {"python": true, "php": true, "node": true},
		"PANDAS_COPY_ON_WRITE": {"python": true},
		"NAME":                 {},
	} {
		for _, kind := range []string{"python", "php", "node", "ruby", "java"} {
			why := coldVariable(map[string]string{variable: "x"}, interpreterVariables[kind])
			if (why != "") != kinds[kind] {
				t.Errorf("%s, %s: %q", kind, variable, why)
			}
		}
	}
}

// Ruby's start does more with some sources than compile them.
func TestRubySourcesOfTemplates(t *testing.T) {
	lang := Language{Manifest: languages.Manifest{SourceFile: "main.rb"}}
	for source, cold := range map[string]bool{
		"puts 1": false, "": false, "# ruby -w\nputs 1": false, "#!/usr/bin/env ruby\nputs 1": false,
		"#!/usr/bin/ruby -w\nputs 1": true, "#!/bin/sh\nexec true\n#!ruby\nputs 1": true, "#!/usr/bin/ruby\r\nputs 1": true,
		"puts DATA.read\n__END__\ntext": true,
	} {
		why := coldInterpreter(api.Run{Source: api.Bytes(source)}, lang, &Run{Source: "main.rb"}, "ruby")
		if (why != "") != cold {
			t.Errorf("%q: %q", source, why)
		}
	}
}

// Templates differ with what they contain and how they are tried; settings with what a caller decides of
// a start.
func TestKeysOfTemplates(t *testing.T) {
	stage := func(change func(*Run)) *Run {
		p := &Run{Argv: []string{"python3"}, Env: []string{"A=b"}, Limits: api.Limits{CPUs: 1, Memory: api.MiB},
			Files: []api.File{{Name: templateDriver}, {Name: "classes/.main", Content: []byte("-ea")}}}
		change(p)
		return p
	}

	usual, drivers := stage(func(*Run) {}), TemplateDrivers(map[string][]byte{"a": []byte("a"), "b": []byte("b")})
	key := func(p *Run) string { return templateKey(p, drivers["a"], "print") }
	if key(usual) == templateKey(usual, drivers["a"], "another") {
		t.Error("the trial is not in the key")
	}
	if key(usual) == templateKey(usual, drivers["b"], "print") {
		t.Error("the driver is not in the key")
	}
	if key(usual) == key(stage(func(p *Run) { p.Files[1].Content = []byte("-da") })) {
		t.Error("what the driver loads is not in the key")
	}
	if key(usual) == key(stage(func(p *Run) { p.Limits.CPUs = 2 })) {
		t.Error("the processors are not in the key")
	}
	if key(usual) != key(stage(func(p *Run) { p.Limits.Memory = api.GiB })) {
		t.Error("the memory limit is in the key")
	}

	for name, change := range map[string]func(*Run){
		"a limit":     func(p *Run) { p.Limits.Memory = api.GiB },
		"an argument": func(p *Run) { p.Argv = []string{"python3", "x"} },
		"a variable":  func(p *Run) { p.Env = nil },
	} {
		if usual.Settings() == stage(change).Settings() {
			t.Errorf("%s is not in the settings", name)
		}
	}

	if usual.Settings() != stage(func(p *Run) { p.Stdin = []byte("x") }).Settings() {
		t.Error("the input is in the settings")
	}
}
