package api

import "time"

// A BatchRequest opens a batch in the service.
type BatchRequest struct {
	Labels Labels `json:"labels,omitzero" doc:"project, task and run of the batch; the runs of its jobs have them, unless a job has its own project or task; it cannot have another run"`

	Defaults   Run       `json:"defaults,omitzero" doc:"fields of POST /v1/runs that all jobs share; a job's own field replaces it, and limits are merged one by one"`
	Ordered    bool      `json:"ordered,omitempty" doc:"results in the order of the jobs"`
	Keep       BatchKeep `json:"keep,omitempty" doc:"what a line has of a result; result if absent"`
	KeepOutput Size      `json:"keep_output,omitempty" doc:"how much of each stream of each test a line has; 4K if absent"`
}

// A BatchKeep says what a line of results has.
type BatchKeep string

// What is kept of a result.
const (
	KeepResult  BatchKeep = "result"  // all of it
	KeepSummary BatchKeep = "summary" // verdict, answer, score and summary
)

// A BatchState is how far a batch of the service is.
type BatchState string

// The states of a batch.
const (
	BatchOpen     BatchState = "open"     // it takes jobs, and judges those that it has
	BatchRunning  BatchState = "running"  // it takes no more jobs
	BatchDone     BatchState = "done"     // each job has its result
	BatchCanceled BatchState = "canceled" // the jobs that had no result are canceled
)

// A Batch is the state of a batch in the service.
type Batch struct {
	ID      string     `json:"batch_id" doc:"id of the batch"`
	State   BatchState `json:"state" doc:"open (it takes jobs, and judges those that it has), running, done or canceled"`
	Labels  Labels     `json:"labels,omitzero" doc:"project, task and run of the batch"`
	Created time.Time  `json:"created" doc:"when it was opened"`
	Rejudge bool       `json:"rejudge,omitempty" doc:"its jobs are past runs that are judged again: see GET /v1/rejudges/{id}"`
	Ended   *time.Time `json:"ended,omitempty" doc:"since when each job has its result"`
	Expires *time.Time `json:"expires,omitempty" doc:"when the batch is removed, with its results"`

	Jobs     int64               `json:"jobs" doc:"jobs that it has taken"`
	Results  int64               `json:"results" doc:"jobs that have a result"`
	Statuses map[JobStatus]int64 `json:"statuses" doc:"results by status: done, refused, error, canceled"`
	Bytes    int64               `json:"bytes" doc:"bytes of its jobs and results on disk"`
	Rate     float64             `json:"jobs_per_second,omitempty" doc:"results in a second, since the service judges the batch"`
	Left     float64             `json:"eta_seconds,omitempty" doc:"seconds until all jobs that it has will have a result, at this rate"`
}

// JobsTaken says what came of jobs that were sent to a batch.
type JobsTaken struct {
	Taken        int64        `json:"taken" doc:"jobs that are on disk now"`
	Repeated     int64        `json:"repeated" doc:"jobs that the batch had already: the same id, and the same work"`
	Refused      []JobRefusal `json:"refused" doc:"lines that are no job, or one that this key may not have judged; the first 1000"`
	RefusedTotal int64        `json:"refused_total" doc:"number of such lines"`
}

// A JobRefusal is a line that is no job of the batch.
type JobRefusal struct {
	Line  int64  `json:"line" doc:"number of the line, from 1"`
	ID    string `json:"id,omitempty" doc:"id of the job, if it could be read"`
	Error *Error `json:"error" doc:"what is wrong with the line"`
}

// A BatchEnd is the last line of results that a client has followed to the end.
type BatchEnd struct {
	End bool `json:"end" doc:"true: no line is missing"`

	Batch
	Error *Error `json:"error,omitempty" doc:"why not all jobs were taken that the client sent"`
}
