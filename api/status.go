package api

import "time"

// A Status is how far a run is, and what became of it.
type Status struct {
	Run     string     `json:"run_id" doc:"id of the run"`
	State   State      `json:"state" doc:"how far it is"`
	Created time.Time  `json:"created" doc:"when it was asked for"`
	Labels  Labels     `json:"labels,omitzero" doc:"as in the request"`
	Usage   *LiveUsage `json:"usage,omitempty" doc:"so far, while it runs"`
	Result  *Result    `json:"result,omitempty" doc:"when it is done, this or error"`
	Error   *Problem   `json:"error,omitempty" doc:"what kept it from a verdict: the service's failure, not the program's"`
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
	Items []T    `json:"items" doc:"the entries of this page"`
	Next  string `json:"next,omitempty" doc:"what to give in after for the page that follows; absent: this is the last"`
}
