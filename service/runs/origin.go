package runs

import "github.com/brig-sandbox/brig/api"

// An Origin is where a run comes from: what its client asked for, before a problem completed it, and the job of a batch
// that it is. The zero value is a run that nobody may ask for again.
type Origin struct {
	Asked api.RunRequest

	Batch, Job string // empty: it is no job
	Trial      bool   // it counts only when the rejudge that it belongs to is applied
}
