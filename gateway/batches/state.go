package batches

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/brig-sandbox/brig/api"
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

	// Of a batch that has ended.
	Ended    time.Time               `json:"ended,omitzero"`
	Jobs     int64                   `json:"jobs,omitempty"`
	Statuses map[api.JobStatus]int64 `json:"statuses,omitempty"`
}

// write replaces the file. The new one is complete and on disk before it has the name.
func (s state) write(dir string) (err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, stateName)
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
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
