package judge

import (
	"errors"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A PackageFault is the failure of a checker that accuses its own author: it says so, as _fail of testlib does,
// or gives more points than there are. An output that is better than the author's has this effect.
type PackageFault struct{ reason string }

func (e *PackageFault) Error() string { return e.reason }

// OutputMayBeAtFault reports whether a checker may have failed because of the output that it judged.
func OutputMayBeAtFault(failed error) bool {
	var accuses *PackageFault
	return !errors.As(failed, &accuses)
}

// OutputIsAtFault reports whether a checker failed because of the output that it judged, when it accepts the expected
// one: failed and control are how it ended on each. The wall clock alone says nothing, as the machine may have been
// busy: the checker must have computed for a second, and for longer than twice the time that the expected output takes.
func OutputIsAtFault(failed, control api.Result) bool {
	if failed.Verdict != api.WallLimit {
		return true
	}
	used, usual := failed.Usage.CPU.Value, control.Usage.CPU.Value
	return used != nil && usual != nil && *used > 2**usual+int64(time.Second)
}
