package batches

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
)

// The files of a batch.
const (
	inputName   = "input.jsonl"   // jobs, in the order in which they were taken
	resultsName = "results.jsonl" // results, in the order in which they are sent
	stateName   = "state.json"    // a directory without it is no batch
)

// A state is what stateName has.
type state struct {
	ID       string           `json:"batch_id"`
	Owner    string           `json:"owner"`
	Key      string           `json:"idempotency_key,omitempty"`
	Request  api.BatchRequest `json:"request"`
	Created  time.Time        `json:"created"`
	Closed   bool             `json:"closed,omitempty"`
	Canceled bool             `json:"canceled,omitempty"`

	Rejudge *rejudge `json:"rejudge,omitempty"` // of a rejudge

	// Of a batch that has ended.
	Ended    time.Time               `json:"ended,omitzero"`
	Jobs     int64                   `json:"jobs,omitempty"`
	Statuses map[api.JobStatus]int64 `json:"statuses,omitempty"`
}

// write replaces the file. The new one is complete and on disk before it has the name.
func (s state) write(dir string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, stateName), text, 0o600)
}

func readState(dir string) (s state, err error) {
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w", filepath.Join(dir, stateName), err)
	}
	return s, nil
}
