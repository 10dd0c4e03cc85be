package judge

import (
	"errors"

	"github.com/brig-sandbox/brig/api"
)

// A PackageFault is the failure of a checker that accuses its own author: it says so, as _fail of testlib does,
// or gives more points than there are. An output that is better than the author's has this effect.
type PackageFault struct{ reason string }

func (e *PackageFault) Error() string { return e.reason }

// OutputMayBeAtFault reports whether a checker that ended with this verdict may have failed because of the
// output that it judged. The wall clock alone says nothing: the machine may have been busy.
func OutputMayBeAtFault(checker api.Verdict, failed error) bool {
	var accuses *PackageFault
	return checker != api.WallLimit && !errors.As(failed, &accuses)
}
