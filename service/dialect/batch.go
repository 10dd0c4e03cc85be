package dialect

import (
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Batch is runs that know nothing of each other. They are executed at the same time, and one that fails because of
// brig leaves the others alone.
type Batch struct {
	Runs    []api.Run
	MaxWait time.Duration // from the beginning of the request until each has a slot; zero: as long as for one run

	// Part tells one outcome, which is forgotten afterwards. It is called at the same time for several runs.
	Part func(run int, o Outcome) []byte

	// Tell makes the response of all parts, one for each of Runs.
	Tell func(parts [][]byte) Response
}

// An Outcome is what became of one run of a batch.
type Outcome struct {
	Result  api.Result
	Problem *api.Problem // why brig refused it, or failed to execute it; nil: neither
}
