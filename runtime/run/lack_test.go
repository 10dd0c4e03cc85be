package run

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Which compile stages could have ended in another way with their other start.
func TestLackOf(t *testing.T) {
	p := &plan.Run{Template: &plan.Template{LackSays: []string{"java.lang.StackOverflowError"}}}
	for name, tt := range map[string]struct {
		verdict api.Verdict
		stderr  string
		want    lack
	}{
		"well":                {api.OK, "java.lang.StackOverflowError", nothing},
		"an error":            {api.Nonzero, "Main.java:1: error: ';' expected", nothing},
		"the compiler's heap": {api.Nonzero, "out of resources\njava.lang.StackOverflowError\n\tat x", room},
		"output":              {api.OutputLimit, "", nothing},
		"time":                {api.CPULimit, "", duration},
		"wall time":           {api.WallLimit, "", duration},
		"memory":              {api.MemoryLimit, "", room},
		"a crash":             {api.Signaled, "", room},
		"the caller left":     {api.Canceled, "", nothing},
	} {
		if got := lackOf(p, api.Result{Verdict: tt.verdict, Stderr: []byte(tt.stderr)}); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
