package api

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Code names a failure or refusal of brig, for programs; its meaning never changes.
type Code string

// The codes. The caller or the operator can fix the causes of the first group (HTTP 4xx); the
// second group is brig's (5xx). None is for the author of a program: a fault of the program is a
// Verdict (see Responsible in internal/e2e/harness/codes.go).
const (
	CodeBadRequest   Code = "bad-request"      // the request does not parse, or contradicts itself
	CodeTooLarge     Code = "too-large"        // the request is larger than this agent accepts
	CodeBadLimits    Code = "bad-limits"       // a limit makes no sense
	CodeAboveCeiling Code = "above-ceiling"    // a limit is above what the operator allows
	CodeBadFile      Code = "bad-file"         // an input's or output's name, or their number or size
	CodeNoLanguage   Code = "unknown-language" // no manifest of that name
	CodeNoImage      Code = "unknown-image"    // no stored image of that name or digest, or it lacks what the language needs
	CodeBadImage     Code = "bad-image"        // the archive is hostile, truncated or not an archive
	CodeNoBlob       Code = "unknown-blob"     // no blob of that digest, or it was removed
	CodeNoProfile    Code = "unknown-profile"  // no profile of that name
	CodeBadProfile   Code = "bad-profile"      // the profile fails its checks
	CodeNoProblem    Code = "unknown-problem"  // no stored problem of that name or digest
	// the package of a problem breaks rules of its format; the text names file, line and rule
	CodeBadProblem      Code = "bad-problem"
	CodeForbidden       Code = "forbidden"              // this caller is not allowed to
	CodeNotFound        Code = "not-found"              // no such path, or no such thing here
	CodeFileDenied      Code = "file-denied"            // the program of the session may not do that with the file either
	CodeFileConflict    Code = "file-conflict"          // the name exists already, or is not of the kind that the request needs
	CodeNoSpace         Code = "no-space"               // the file system in the session is full; nothing was written
	CodeBadVolume       Code = "bad-volume"             // its file system cannot be mounted: damaged, or not one
	CodeNoProgram       Code = "program-not-found"      // argv[0] is neither in the image nor a file of the run: a shell's 127
	CodeBadProgram      Code = "program-not-executable" // argv[0] cannot be executed: a file in the image, or one sent without executable
	CodeSessionEnded    Code = "session-ended"          // the session existed and has ended; the text says why
	CodeUnsupported     Code = "unsupported"            // a kernel feature is missing; the text names it
	CodePackagesFailed  Code = "packages-failed"        // the packages could not be installed; the text has the installer's words
	CodePackagesMissing Code = "packages-missing"       // the packages are not installed yet: have them installed, then send the run again
	// the checker or the interactor did not keep to its protocol; the text names the test and how it ended
	CodeCheckFailed  Code = "check-failed"
	CodePoison       Code = "poison"           // each worker that began the job ended or failed; it was not judged
	CodeCanceled     Code = "canceled"         // the batch was canceled before the job was judged
	CodeBusy         Code = "busy"             // every slot is leased; retry
	CodeSessionBusy  Code = "session-busy"     // the session has its maximum of concurrent execs; retry
	CodeSessionsFull Code = "sessions-full"    // the agent has its maximum of sessions; end one, or retry later
	CodeOverloaded   Code = "memory-committed" // no memory left to reserve; retry
	CodeHostMemory   Code = "host-memory"      // the kernel killed the run for the limit of a cgroup above its own; retry
	// the agent has no descriptors, processes, memory, processor time or disk space left; retry later
	CodeHostExhausted    Code = "host-exhausted"
	CodeImageDamaged     Code = "image-damaged"     // stored files of the image are not as they were imported: build or import it again
	CodeSetupTimeout     Code = "set-up-timeout"    // a sandbox was not ready in time; retry later
	CodeStopping         Code = "stopping"          // the agent is shutting down; retry elsewhere
	CodeInternal         Code = "internal"          // a step of brig failed; a retry is safe, the run left nothing
	CodeAgentGone        Code = "agent-gone"        // the connection to the agent broke during the run
	CodeAgentUnreachable Code = "agent-unreachable" // nothing answers on the socket
)

// An Error is brig's own failure or refusal. It is never about the program's behavior: that is a
// Verdict.
type Error struct {
	Code Code `json:"code" doc:"what failed, for programs"`
	// one sentence: what happened, why, and what to do about it
	Message string `json:"message" doc:"what happened, and what to do about it"`
	// the same request may be sent again: a run has no effect outside its sandbox, and this one left nothing
	RetrySafe bool   `json:"retry_safe" doc:"whether the same request may be sent again"`
	Run       string `json:"run_id,omitempty" doc:"id of the run, if one was started"`           // empty if no run was started
	Session   string `json:"session_id,omitempty" doc:"session that conflicts with the request"` // the session that conflicts with the request

	RetryAfter time.Duration `json:"-"` // of a refusal: when the request may succeed, as an estimate; zero: unknown

	err error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, if the Error wraps another error.
func (e *Error) Unwrap() error { return e.err }

// Refuse makes an Error whose cause the caller has to fix. Sizes in it are written with a unit.
func Refuse(code Code, format string, args ...any) *Error {
	formatSizes(args)
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), err: err}
}

// Fail makes an Error for a failure of brig: the run left nothing behind and may be sent again.
func Fail(code Code, format string, args ...any) *Error {
	e := Refuse(code, format, args...)
	e.RetrySafe = true
	return e
}

// About says in an error which part of a request it is about, if the caller has to fix it. Others stay as
// they are.
func About(part string, err error) error {
	var e *Error
	if errors.As(err, &e) && !e.RetrySafe {
		return Refuse(e.Code, "%s: %w", part, err)
	}
	return err
}

// HasCode reports whether err is an *Error with one of the codes.
func HasCode(err error, codes ...Code) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}

// AsError is err as brig writes it in JSON.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Refuse(CodeBadRequest, "%w", err)
}
