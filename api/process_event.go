package api

// A ProcessEvent is a line of what follows a process: output, a sign of life or, last, the process when it has ended.
type ProcessEvent struct {
	Output    *ProcessOutput `json:"output,omitempty" doc:"what it wrote"`
	KeepAlive bool           `json:"keepalive,omitempty" doc:"true: nothing happened for a while"`
	Process   *Process       `json:"process,omitempty" doc:"last: the process, which has ended"`
}
