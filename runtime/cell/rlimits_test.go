package cell

import (
	"reflect"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Every limit that the plan of a run can have is one that the message to a shell can hold.
func TestEveryLimitOfAPlanHasANumber(t *testing.T) {
	var all api.Limits
	for _, row := range api.LimitTable() {
		if v := reflect.ValueOf(row.Field(&all)).Elem(); v.CanInt() {
			v.SetInt(1 << 30)
		}
	}

	limits, err := wireLimits(append(plan.CellRLimits(), plan.RLimits(all, 0, 0)...))
	if err != nil || len(limits) > wireMaxRlimits {
		t.Errorf("%d limits, of which a message holds %d: %v", len(limits), wireMaxRlimits, err)
	}
}
