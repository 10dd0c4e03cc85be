package dialecttest

import (
	"github.com/brig-sandbox/brig/service/dialect"
)

// batch compares the runs of a batch, and returns what is told of their outcomes.
func (a *archive) batch(b dialect.Batch) dialect.Response {
	a.t.Helper()
	for i, run := range b.Runs {
		if err := run.Validate(); err != nil {
			a.t.Errorf("run %d: %v", i, err)
		}
	}
	a.compare("runs.json", lines(a.t, b.Runs))

	var outcomes []dialect.Outcome
	if a.read("outcomes.json", &outcomes); len(outcomes) != len(b.Runs) {
		a.t.Fatalf("%d outcomes of %d runs", len(outcomes), len(b.Runs))
	}
	parts := make([][]byte, len(outcomes))
	for i, o := range outcomes {
		parts[i] = b.Part(i, o)
	}
	return b.Tell(parts)
}
