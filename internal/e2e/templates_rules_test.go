package e2e

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Ceilings below the limits with which a template is made lower these, and refuse no run.
func TestTemplatesKeepToCeilings(t *testing.T) {
	a := startAgent(t, "--max-wall", "10s", "--max-memory", "256M", "--max-scratch", "64M", "--max-cpu", "10s")
	a.needPython(t)
	if res := a.run(t, py("print(1)")); res.Verdict != api.OK || !res.Host.Template {
		t.Errorf("%s, %+v", res.Verdict, res.Host)
	}
}

// ineligibleSources have the ordinary start by a rule about the source.
var ineligibleSources = map[string]string{"ruby/35_data": "__END__", "ruby/69_shebang": "the first line"}

func wantOrdinaryStart(t *testing.T, res api.Result, rule string) {
	t.Helper()
	if res.Host.Template || !strings.Contains(res.Host.Cold, rule) {
		t.Errorf("%+v; want the ordinary start because of %q", res.Host, rule)
	}
}
