package templates

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Ceilings below the limits with which a template is made lower these, and refuse no run.
func TestTemplatesKeepToCeilings(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", "10s", "--max-memory", "256M", "--max-scratch", "64M", "--max-cpu", "10s")
	a.NeedPython(t)
	if res := a.MustRun(t, harness.Py("print(1)")); res.Verdict != api.OK || !res.Host.Template {
		t.Errorf("%s, %+v", res.Verdict, res.Host)
	}
}

// ineligibleSources have the ordinary start by a rule about the source.
var ineligibleSources = map[string]string{"ruby/35_data": "__END__", "ruby/69_shebang": "the first line"}
