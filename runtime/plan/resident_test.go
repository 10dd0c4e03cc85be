package plan

import (
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A resident of a session may last as long as the session, unless somebody asks for less. What does not hold a slot for
// less keeps its ceilings.
func TestLimitsOfAResident(t *testing.T) {
	const life = api.Duration(2 * time.Hour)
	small := api.DefaultCeiling()
	for name, tt := range map[string]struct {
		asked, ceiling, want api.Limits
	}{
		"nothing":        {api.Limits{}, small, api.Limits{Wall: life, CPU: life, Output: residentOutput}},
		"no ceiling":     {api.Limits{}, api.Limits{}, api.Limits{Wall: life, CPU: life, Output: residentOutput}},
		"wall":           {api.Limits{Wall: 5e9}, small, api.Limits{Wall: 5e9, CPU: 5e9, Output: residentOutput}},
		"cpu and output": {api.Limits{CPU: 5e9, Output: 7}, small, api.Limits{Wall: life, CPU: 5e9, Output: 7}},
	} {
		got, ceiling := residentLimits(tt.asked, tt.ceiling, time.Duration(life))
		if got != tt.want {
			t.Errorf("%s: %+v; want %+v", name, got, tt.want)
		}
		if err := got.Within(ceiling); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ceiling.Memory != tt.ceiling.Memory || ceiling.Pids != tt.ceiling.Pids {
			t.Errorf("%s: other ceilings changed: %+v", name, ceiling)
		}
	}

	if err := (api.Limits{Wall: life + 1}).Within(func() api.Limits {
		_, c := residentLimits(api.Limits{}, small, time.Duration(life))
		return c
	}()); err == nil {
		t.Error("a resident may last longer than its session")
	}
}
