package api

import (
	"encoding/json"
	"time"
)

// A Record is one run in the history. Either Verdict is set, for a finished run, or Code, if brig
// failed.
type Record struct {
	ID      string `json:"run_id" doc:"id of the run"`
	Owner   string `json:"owner,omitempty" doc:"name of the key that requested it; absent if the service has no keys"`
	Project string `json:"project,omitempty" doc:"project in the run's labels"`
	Task    string `json:"task,omitempty" doc:"task in the run's labels"`
	Run     string `json:"run,omitempty" doc:"run in the run's labels: what brig end and POST /v1/end name; run_id is another thing"`

	Problem string `json:"problem,omitempty" doc:"name of the stored problem by which it was judged"`
	Batch   string `json:"batch,omitempty" doc:"id of the batch that it was a job of"`
	Job     string `json:"job,omitempty" doc:"id of the job in that batch"`

	Trial      bool   `json:"trial,omitempty" doc:"made by a rejudge that is not applied: it counts nowhere, and is listed with replaced=true alone"`
	ReplacedBy string `json:"replaced_by,omitempty" doc:"run that counts instead of this one, since a rejudge was applied"`

	Dialect string `json:"dialect,omitempty" doc:"foreign dialect by which the run was requested, such as sandboxfusion; absent: brig's own API"`

	Language string `json:"language,omitempty" doc:"language of the program"`
	Image    string `json:"image,omitempty" doc:"digest of the image"`

	Verdict Verdict `json:"verdict,omitempty" doc:"how the program ended; absent if the service failed: see code"`
	Code    Code    `json:"code,omitempty" doc:"code of the service's failure; absent if there is a verdict"`
	Message string  `json:"message,omitempty" doc:"message of the service's failure; at most 1 KiB is stored"`
	Stage   Stage   `json:"stage,omitempty" doc:"the part of the run that the verdict is about"`

	Created    time.Time `json:"created" doc:"when it was requested, in UTC"`
	Queued     int64     `json:"queued_ns" doc:"nanoseconds that it waited for a slot"`
	Wall       int64     `json:"wall_ns" doc:"nanoseconds from exec to exit"`
	CPU        *int64    `json:"cpu_ns" doc:"nanoseconds of processor time; null: unknown"`
	Memory     *int64    `json:"memory_bytes" doc:"peak memory in bytes; null: unknown"`
	ExitCode   int       `json:"exit_code" doc:"exit code of the main process; -1 if a signal ended it"`
	Signal     int       `json:"signal,omitempty" doc:"signal that ended the main process"`
	SourceSize int64     `json:"source_bytes" doc:"bytes of the program's text"`

	Summary *Summary `json:"summary,omitempty" doc:"summary of the run's tests; absent if it had none. The verdict only says how the programs ended: see answer for wrong answers"`

	Diagnosis json.RawMessage `json:"diagnosis,omitempty" doc:"why the run failed, as in a result; over 16 KiB it is left out"`

	Stdout          Bytes `json:"stdout,omitempty" doc:"not in listings; at most 64 KiB are stored"`
	Stderr          Bytes `json:"stderr,omitempty" doc:"not in listings; at most 64 KiB are stored"`
	StdoutTruncated bool  `json:"stdout_truncated,omitempty" doc:"cut by the run's limit or by the history"`
	StderrTruncated bool  `json:"stderr_truncated,omitempty" doc:"cut by the run's limit or by the history"`

	Detail   json.RawMessage `json:"detail,omitempty" doc:"not in listings: the result without its streams and file contents; with as much of the tests as fits into 256 KiB"`
	Findings json.RawMessage `json:"findings,omitempty" doc:"not in listings: the findings of a check of the source; left out if over 256 KiB"`

	Request json.RawMessage `json:"-"` // what is kept of the request, a KeptRequest; it is read on its own

	Cut bool `json:"cut,omitempty" doc:"something other than a stream was cut or left out"`
}
