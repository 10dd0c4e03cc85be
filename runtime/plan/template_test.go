package plan

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
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
		{"one process, with threads", Template{threads: true}, with(func(l *api.Limits) { l.Pids = 1 }), false},
		{"few files, with threads", Template{threads: true}, with(func(l *api.Limits) { l.OpenFiles = 16 }), false},
		{"enough of both", Template{threads: true}, usual, true},
	} {
		if got := tt.template.takes(tt.run); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}
