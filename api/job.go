package api

import "encoding/json"

// A Job is one line of a batch: a submission with all its tests, which is compiled once.
type Job struct {
	ID string `json:"id" doc:"names the job; unique in its batch; 1 to 256 bytes"`

	Problem    string          `json:"problem,omitempty" doc:"a problem that has the tests, limits, checker and groups, instead of those fields: one that the service has stored, by its name or digest; for brig batch, a package relative to the input"`
	SourceFile string          `json:"source_file,omitempty" doc:"instead of source: a file, relative to the directory of the input; only brig batch reads one"`
	Urgent     bool            `json:"urgent,omitempty" doc:"workers take it before jobs that are not urgent"`
	Meta       json.RawMessage `json:"meta,omitempty" doc:"any JSON of at most 64 KiB; the result has it again"`

	Run
}

// The bounds of a job, in bytes.
const (
	MaxJobID   = 256
	MaxJobMeta = 64 << 10
)

// A JobStatus says whether a job was judged.
type JobStatus string

// The states of a job that has ended. Only a job that is done has a score: the others say nothing about
// the program, and a zero score would be a wrong judgement.
const (
	JobDone     JobStatus = "done"     // judged, whatever the verdict
	JobRefused  JobStatus = "refused"  // the job is wrong; the error says in what
	JobError    JobStatus = "error"    // brig failed, each time that it tried
	JobCanceled JobStatus = "canceled" // its batch was canceled, or its deadline passed
)

// A JobResult is one line of a batch's results. Each job has exactly one.
type JobResult struct {
	ID     string    `json:"id" doc:"id of the job; of a line that could not be read: line and its number"`
	Index  int64     `json:"index" doc:"number of the job in the input, from 0"`
	Status JobStatus `json:"status" doc:"done if it was judged, whatever the verdict; otherwise there is an error and no score" enum:"done,refused,error,canceled"`

	Run       string   `json:"run_id,omitempty" doc:"id of the run, under which the history of a service has it"`
	Verdict   Verdict  `json:"verdict,omitempty" doc:"as in result"`
	Answer    Answer   `json:"answer,omitempty" doc:"as in summary; of a job without tests: absent"`
	Score     *float64 `json:"score,omitempty" doc:"0 to 1; every job that is done has one, no other job does"`
	Points    *float64 `json:"points,omitempty" doc:"as in summary"`
	MaxPoints *float64 `json:"max_points,omitempty" doc:"as in summary"`

	Summary *Summary `json:"summary,omitempty" doc:"summary of the tests"`
	Result  *Result  `json:"result,omitempty" doc:"the whole result, unless only summaries are kept"`
	Error   *Error   `json:"error,omitempty" doc:"why the job was not judged"`

	Meta json.RawMessage `json:"meta,omitempty" doc:"as in the job"`

	Attempts int    `json:"attempts,omitempty" doc:"how often a worker began the job"`
	Worker   string `json:"worker,omitempty" doc:"name of the worker that sent the result"`
	Digest   string `json:"digest" doc:"digest of the job without meta and labels: the same digest is the same work"`
	Queued   int64  `json:"queued_ns,omitempty" doc:"nanoseconds from its release to its start"`
	Finished string `json:"finished,omitempty" doc:"when it ended, RFC 3339"`
}

// JobScore is the score of a job that is done: the summary's if it has one; otherwise the share of accepted
// tests; without tests 1 if the program ended well and 0 if not.
func JobScore(r Result) float64 {
	switch s := r.Summary; {
	case s != nil && s.Score != nil:
		return *s.Score
	case s != nil && s.Tests > 0:
		return float64(s.Accepted) / float64(s.Tests)
	case r.Verdict == OK:
		return 1
	}
	return 0
}
