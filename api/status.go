package api

import "time"

// A Status is the progress of a run and, at the end, its result.
type Status struct {
	Run        string       `json:"run_id" doc:"id of the run"`
	State      State        `json:"state" doc:"the progress of the run"`
	Created    time.Time    `json:"created" doc:"when it was requested"`
	Labels     Labels       `json:"labels,omitzero" doc:"as in the request"`
	Usage      *LiveUsage   `json:"usage,omitempty" doc:"resource usage so far, while it runs"`
	Result     *Result      `json:"result,omitempty" doc:"the result; a run that is done has this or error"`
	Request    *KeptRequest `json:"request,omitempty" doc:"with the parameter with=request, of a run that is done: what the service has kept of the request"`
	ReplacedBy string       `json:"replaced_by,omitempty" doc:"run that counts instead of this one, since a rejudge was applied"`
	Trial      bool         `json:"trial,omitempty" doc:"made by a rejudge that is not applied: it counts nowhere"`

	Error *Problem `json:"error,omitempty" doc:"why there is no verdict: a failure of the service, not of the program"`
}

// A State is the progress of a run.
type State string

// The states of a run.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
)

// A Page is one page of a listing. Next, if not empty, is the value of the parameter after for the
// next page.
type Page[T any] struct {
	Items []T    `json:"items" doc:"the entries of this page"`
	Next  string `json:"next,omitempty" doc:"value of the parameter after for the next page; absent on the last page"`
}
