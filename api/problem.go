package api

// A Problem is an error of the public service, as RFC 9457 has it. Code is the stable
// part; Detail is for people.
type Problem struct {
	Type   string `json:"type" doc:"always about:blank: code says more"`
	Title  string `json:"title" doc:"of the HTTP status"`
	Status int    `json:"status" doc:"the HTTP status"`
	Detail string `json:"detail" doc:"what, why, and what to do about it, for people"`

	Code       Code   `json:"code" doc:"what it is, for programs: it never changes its meaning"`
	RetrySafe  bool   `json:"retry_safe" doc:"the same request may be sent again: a run has no effect outside its sandbox, and this one left nothing"`
	RetryAfter int    `json:"retry_after_seconds,omitempty" doc:"when to send it again, in seconds; as in the header Retry-After"`
	Run        string `json:"run_id,omitempty" doc:"the run that it is of, where one was begun"`
	Session    string `json:"session_id,omitempty" doc:"the session that is in the way"`

	Findings []Finding `json:"findings,omitempty" doc:"of check-refused: what the check found"`
}

func (p *Problem) Error() string { return p.Detail }

// The public service's own codes, beside the agent's.
const (
	CodeUnauthorized Code = "unauthorized"         // no key, or one that is not known
	CodeQueueFull    Code = "queue-full"           // no place is left in the queue; retry
	CodeKeyFull      Code = "key-queue-full"       // as many requests of this key wait as may; retry
	CodeConnsFull    Code = "too-many-connections" // of the service, or of one address; retry
	CodeBodiesFull   Code = "too-many-bodies"      // of so many requests the body is still coming, or the file going, of the service or of this key; retry
	CodeWaited       Code = "waited-too-long"      // no slot became free in time; retry
	CodeCheckRefused Code = "check-refused"        // check=enforce, and the check found an error
	CodeConflict     Code = "conflict"             // it is there already, or is something else
)
