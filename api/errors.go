package api

import "fmt"

// A Code names a failure of brig's for programs; it never changes its meaning.
type Code string

// The codes. The first group is the caller's or the operator's to mend (HTTP 4xx), the
// second is ours (5xx). None is for the author of a program: what is wrong with that is a
// Verdict (blame in e2e/codes_test.go).
const (
	CodeBadRequest       Code = "bad-request"            // the request does not parse, or contradicts itself
	CodeTooLarge         Code = "too-large"              // the request is over the size this agent takes
	CodeBadLimits        Code = "bad-limits"             // a limit makes no sense
	CodeAboveCeiling     Code = "above-ceiling"          // a limit is above what the operator allows
	CodeBadFile          Code = "bad-file"               // an input's or output's name, or their number or size
	CodeNoLanguage       Code = "unknown-language"       // no manifest of that name
	CodeNoImage          Code = "unknown-image"          // no stored image of that name or digest, or it lacks what the language needs
	CodeBadImage         Code = "bad-image"              // the archive is hostile, truncated or not an archive
	CodeNoBlob           Code = "unknown-blob"           // no blob of that digest, or no more
	CodeNoProfile        Code = "unknown-profile"        // no profile of that name
	CodeBadProfile       Code = "bad-profile"            // the profile fails its checks
	CodeForbidden        Code = "forbidden"              // this caller may not
	CodeNotFound         Code = "not-found"              // no such path, or no such thing here
	CodeBadVolume        Code = "bad-volume"             // its file system cannot be mounted: damaged, or not one
	CodeNoProgram        Code = "program-not-found"      // argv[0] is not in the image, and no file of the run: a shell's 127
	CodeBadProgram       Code = "program-not-executable" // argv[0] is in the image, or a file sent without executable
	CodeSessionEnded     Code = "session-ended"          // the session was there and is not any more; the text says why
	CodeUnsupported      Code = "unsupported"            // a kernel feature is missing; the text names it
	CodeBusy             Code = "busy"                   // every slot is leased; retry
	CodeSessionBusy      Code = "session-busy"           // as many execs of the session are under way as may be; retry
	CodeSessionsFull     Code = "sessions-full"          // as many sessions live as this agent keeps; end one, or retry later
	CodeOverloaded       Code = "memory-committed"       // no memory left to promise; retry
	CodeHostMemory       Code = "host-memory"            // the kernel killed the run for a group above its own; retry
	CodeHostExhausted    Code = "host-exhausted"         // no descriptors, processes, memory or room left to the agent; retry later
	CodeSetupTimeout     Code = "set-up-timeout"         // a sandbox was not ready in time; retry later
	CodeStopping         Code = "stopping"               // the agent is going down; retry elsewhere
	CodeInternal         Code = "internal"               // a step of ours failed; retry is safe, the run left nothing
	CodeAgentGone        Code = "agent-gone"             // the agent went away in mid-run
	CodeAgentUnreachable Code = "agent-unreachable"      // nobody answers on the socket
)

// An Error is brig's own failure or refusal. It is never about what the program
// did: that is a Verdict.
type Error struct {
	Code      Code   `json:"code"`
	Message   string `json:"message"`              // one sentence: what, why, and what to do about it
	RetrySafe bool   `json:"retry_safe"`           // the same request may be sent again: a run has no effect outside its sandbox, and this one left nothing
	Run       string `json:"run_id,omitempty"`     // empty when no run was begun
	Session   string `json:"session_id,omitempty"` // that is in the way

	err error
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause, when the error was made here from another.
func (e *Error) Unwrap() error { return e.err }

// Refuse makes an Error the caller has to mend. Sizes in it are written with a unit.
func Refuse(code Code, format string, args ...any) *Error {
	forPeople(args)
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), err: err}
}

// Fail makes an Error of ours: the run left nothing behind and may be sent again.
func Fail(code Code, format string, args ...any) *Error {
	e := Refuse(code, format, args...)
	e.RetrySafe = true
	return e
}
