package api

// A Problem is an error of the public service, in the format of RFC 9457. Code is the stable part;
// Detail is for people.
type Problem struct {
	Type   string `json:"type" doc:"always about:blank; see code"`
	Title  string `json:"title" doc:"text of the HTTP status"`
	Status int    `json:"status" doc:"the HTTP status"`
	Detail string `json:"detail" doc:"what happened, why, and what to do about it, for people"`

	Code       Code   `json:"code" doc:"error code for programs; its meaning never changes"`
	RetrySafe  bool   `json:"retry_safe" doc:"the same request may be sent again: a run has no effect outside its sandbox, and this one left nothing"`
	RetryAfter int    `json:"retry_after_seconds,omitempty" doc:"seconds to wait before a retry, as in the header Retry-After"`
	Run        string `json:"run_id,omitempty" doc:"id of the run, if one was started"`
	Session    string `json:"session_id,omitempty" doc:"id of the session that conflicts with the request"`

	Findings []Finding `json:"findings,omitempty" doc:"for check-refused: the findings of the check"`
}

func (p *Problem) Error() string { return p.Detail }

// The public service's own codes, in addition to the agent's.
const (
	CodeUnauthorized  Code = "unauthorized"         // no key, or an unknown key
	CodeQueueFull     Code = "queue-full"           // the queue is full; retry
	CodeKeyQueueFull  Code = "key-queue-full"       // this key has its maximum of waiting requests; retry
	CodeTooManyConns  Code = "too-many-connections" // too many connections to the service, or from one address; retry
	CodeTooManyBodies Code = "too-many-bodies"      // too many unfinished uploads or file downloads, in the service or of this key; retry
	CodeQueueTimeout  Code = "waited-too-long"      // no slot became free in time; retry
	CodeCheckRefused  Code = "check-refused"        // check=enforce, and the check found an error
	CodeConflict      Code = "conflict"             // it exists already, or is something else
	CodeBatchClosed   Code = "batch-closed"         // the batch takes no more jobs
	// the batches of this key, or of all, have their maximum of number, jobs or bytes; end or remove one, or retry later
	CodeBatchesFull Code = "batches-full"
)
