package api

import (
	"encoding/json"
	"time"
)

// A Record is one run, finished or failed by us: either Verdict or Code is set.
type Record struct {
	ID      string `json:"run_id" doc:"of the run"`
	Owner   string `json:"owner,omitempty" doc:"name of the key that asked for it; absent where there are no keys"`
	Project string `json:"project,omitempty" doc:"of the run's labels"`
	Task    string `json:"task,omitempty" doc:"of the run's labels"`

	Language string `json:"language,omitempty" doc:"in which the program was written"`
	Image    string `json:"image,omitempty" doc:"digest of the image"`

	Verdict Verdict `json:"verdict,omitempty" doc:"how the program ended; absent where the service failed, which code names"`
	Code    Code    `json:"code,omitempty" doc:"of the service's failure; absent where there is a verdict"`
	Message string  `json:"message,omitempty" doc:"of the service's failure; at most 1 KiB is kept"`
	Stage   Stage   `json:"stage,omitempty" doc:"the part of the run that the verdict is of"`

	Created    time.Time `json:"created" doc:"when it was asked for, in UTC"`
	Queued     int64     `json:"queued_ns" doc:"nanoseconds that it waited for a slot"`
	Wall       int64     `json:"wall_ns" doc:"nanoseconds from exec to exit"`
	CPU        *int64    `json:"cpu_ns" doc:"nanoseconds of processor time; null: unknown"`
	Memory     *int64    `json:"memory_bytes" doc:"most bytes of memory at a time; null: unknown"`
	ExitCode   int       `json:"exit_code" doc:"of the main process; -1 when a signal ended it"`
	Signal     int       `json:"signal,omitempty" doc:"that ended the main process"`
	SourceSize int64     `json:"source_bytes" doc:"bytes of the program's text"`

	Summary *Summary `json:"summary,omitempty" doc:"what the run's tests come to; absent: it had none. The verdict says of them only how the programs ended, and no word of a wrong answer"`

	Diagnosis json.RawMessage `json:"diagnosis,omitempty" doc:"why the run failed, as in a result; over 16 KiB it is left out"`

	Stdout          Bytes `json:"stdout,omitempty" doc:"not in listings; at most 64 KiB are kept"`
	Stderr          Bytes `json:"stderr,omitempty" doc:"not in listings; at most 64 KiB are kept"`
	StdoutTruncated bool  `json:"stdout_truncated,omitempty" doc:"by the run's limit, or here"`
	StderrTruncated bool  `json:"stderr_truncated,omitempty" doc:"by the run's limit, or here"`

	Detail   json.RawMessage `json:"detail,omitempty" doc:"not in listings: the result without its streams and the content of its files; of tests as much as 256 KiB allow"`
	Findings json.RawMessage `json:"findings,omitempty" doc:"not in listings: what a check found in the source; over 256 KiB it is left out"`

	Cut bool `json:"cut,omitempty" doc:"something besides a stream was cut or left out"`
}
