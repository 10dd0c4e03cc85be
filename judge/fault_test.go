package judge

import (
	"errors"
	"fmt"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestOutputIsAtFault(t *testing.T) {
	used := func(v api.Verdict, ms int64) api.Result {
		ns := ms * 1e6
		return api.Result{Verdict: v, Usage: api.Usage{CPU: api.Measurement{Value: &ns}}}
	}

	for _, tt := range []struct {
		name            string
		failed, control api.Result
		want            bool
	}{
		{"it crashed", used(api.Nonzero, 20), used(api.OK, 20), true},
		{"it met its limit of processor time", used(api.CPULimit, 10_000), used(api.OK, 20), true},
		{"it computed until its wall limit", used(api.WallLimit, 9_000), used(api.OK, 20), true},
		{"a busy host", used(api.WallLimit, 900), used(api.OK, 20), false},
		{"a slow checker on a busy host", used(api.WallLimit, 5_000), used(api.OK, 4_900), false},
		{"it is not known", api.Result{Verdict: api.WallLimit}, used(api.OK, 20), false},
	} {
		if got := OutputIsAtFault(tt.failed, tt.control); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}

	if OutputMayBeAtFault(fmt.Errorf("said: %w", &PackageFault{"jury has worse"})) || !OutputMayBeAtFault(errors.New("exit code 1")) {
		t.Error("a checker that accuses its author is at fault, and another may not be")
	}
}
