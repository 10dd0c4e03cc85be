package api_test

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestFreeFlagsThatNoCommandCanHave(t *testing.T) {
	one := func(flag string) []string { return []string{"-x", flag} }
	for name, tt := range map[string]struct {
		run api.Run
		why string // empty: accepted
	}{
		"the longest":   {api.Run{FreeFlags: api.FreeFlags{Compile: one(strings.Repeat("x", 512))}}, ""},
		"longer":        {api.Run{FreeFlags: api.FreeFlags{Compile: one(strings.Repeat("x", 513))}}, "free_flags.compile[1] has 513 bytes"},
		"longer, link":  {api.Run{FreeFlags: api.FreeFlags{Link: one(strings.Repeat("x", 513))}}, "free_flags.link[1] has 513"},
		"longer, run":   {api.Run{FreeFlags: api.FreeFlags{Run: one(strings.Repeat("x", 513))}}, "free_flags.run[1] has 513"},
		"NUL":           {api.Run{FreeFlags: api.FreeFlags{Compile: one("a\x00b")}}, "free_flags.compile[1] contains a NUL"},
		"NUL, link":     {api.Run{FreeFlags: api.FreeFlags{Link: one("\x00")}}, "free_flags.link[1] contains a NUL"},
		"NUL, run":      {api.Run{FreeFlags: api.FreeFlags{Run: one("\x00")}}, "free_flags.run[1] contains a NUL"},
		"the most":      {api.Run{FreeFlags: api.FreeFlags{Run: make([]string, 64)}}, ""},
		"more":          {api.Run{FreeFlags: api.FreeFlags{Run: make([]string, 65)}}, "65 flags: the maximum is 64"},
		"without a use": {api.Run{Argv: []string{"x"}, FreeFlags: api.FreeFlags{Run: one("-u")}}, "there is no source"},
	} {
		tt.run.Language = "c"
		if tt.run.Argv == nil {
			tt.run.Source = api.Bytes("x")
		}
		err := tt.run.Validate()
		if tt.why == "" && err != nil || tt.why != "" && (code(err) != api.CodeBadRequest || !strings.Contains(err.Error(), tt.why)) {
			t.Errorf("%s: %v; want %q", name, err, tt.why)
		}
	}
}
