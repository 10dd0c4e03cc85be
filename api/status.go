package api

import "time"

// A Status is how far a run is, and what became of it.
type Status struct {
	Run     string     `json:"run_id"`
	State   State      `json:"state"`
	Created time.Time  `json:"created"`
	Labels  Labels     `json:"labels,omitzero"`
	Usage   *LiveUsage `json:"usage,omitempty"`  // while it runs
	Result  *Result    `json:"result,omitempty"` // when it is done, this or Error
	Error   *Problem   `json:"error,omitempty"`  // what kept it from a verdict: ours, not the program's
}

// A State says how far a run is.
type State string

// The states of a run.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
)

// A Page is part of a listing. Next, when not empty, is the value of after for the
// page that follows.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}
