package dialect

import "github.com/brig-sandbox/brig/api"

// A Word is what a dialect says for one of brig's verdicts or failures. Each dialect uses the fields that it has.
type Word struct {
	Status int    // of HTTP; of failures only
	Text   string // a status, reason or outcome in words
	Number int    // an outcome or exit code; of a verdict only if the program has none of its own
}

// The names of the dialects, as in the tables below.
const (
	AgentSandbox  = "agent-sandbox"
	CodeJudge     = "code-judge"
	E2B           = "e2b"
	GoJudge       = "go-judge"
	Jobe          = "jobe"
	Judge0        = "judge0"
	Jupyter       = "jupyter"
	Kubernetes    = "k8s"
	LibreChat     = "librechat"
	Piston        = "piston"
	SandboxFusion = "sandboxfusion"
)

// Verdicts is the one place that renames verdicts: for each dialect, a word for each verdict. Kubernetes, Jupyter and E2B
// have none: they tell how a program of a session or a cell of a kernel ended, most over a WebSocket or a stream
// (service/execsocket, service/jupytersocket).
var Verdicts = map[string]map[api.Verdict]Word{
	// Numbers are exit codes as Python reports them: -N for signal N. Texts are why a command was not executed to its end.
	AgentSandbox: {
		api.OK: {Number: 0}, api.Nonzero: {Number: 1}, api.Signaled: {Number: -9}, api.MemoryLimit: {Number: -9},
		api.OutputLimit: {Number: -9}, api.Denied: {Number: -31}, // SIGSYS
		api.CPULimit: {Number: 1, Text: "timed out"}, api.WallLimit: {Number: 1, Text: "timed out"},
		api.CompileError: {Number: 1}, // a command has no compile stage
		api.Canceled:     {Number: 1}, // no program: it is told as a failure
	},

	// Numbers are 0 for a program that ended well, and texts reasons.
	CodeJudge: {
		api.OK: {Number: 0}, api.Nonzero: {Number: 1}, api.Signaled: {Number: 1}, api.CompileError: {Number: 1},
		api.MemoryLimit: {Number: 1}, api.OutputLimit: {Number: 1}, api.Denied: {Number: 1},
		api.CPULimit: {Number: 1, Text: "worker_timeout"}, api.WallLimit: {Number: 1, Text: "worker_timeout"},
		api.Canceled: {Number: 1, Text: "internal_error"}, // no program: its client has left
	},

	// Texts are statuses. A program that leaves a file out has the status File Error in place of Accepted.
	GoJudge: {
		api.OK: {Text: "Accepted"}, api.Nonzero: {Text: "Nonzero Exit Status"}, api.Signaled: {Text: "Signalled"},
		api.CPULimit: {Text: "Time Limit Exceeded"}, api.WallLimit: {Text: "Time Limit Exceeded"},
		api.MemoryLimit: {Text: "Memory Limit Exceeded"}, api.OutputLimit: {Text: "Output Limit Exceeded"},
		api.Denied:       {Text: "Dangerous Syscall"},
		api.CompileError: {Text: "Internal Error"}, // its runs have no compile stage
		api.Canceled:     {Text: "Internal Error"}, // no program: its client has left
	},

	// Numbers are outcomes. A program that writes to stderr has the outcome 12 in place of 15, and one that writes nothing
	// there has 15, whatever its exit code is.
	Jobe: {
		api.OK: {Number: 15}, api.Nonzero: {Number: 15}, api.Signaled: {Number: 12}, api.CompileError: {Number: 11},
		api.CPULimit: {Number: 13}, api.WallLimit: {Number: 13}, api.MemoryLimit: {Number: 17}, api.Denied: {Number: 19},
		api.OutputLimit: {Number: 13}, // the original drops such output until the time is over
		api.Canceled:    {Number: 20}, // no program: its client has left
	},

	// Numbers are ids of statuses. A program that a signal ends has the status of that signal, if it has one of its own; one
	// that ends by itself is compared with its expected output.
	Judge0: {
		api.OK:           {Number: 3},
		api.Nonzero:      {Number: 11},
		api.Signaled:     {Number: 12},
		api.MemoryLimit:  {Number: 12, Text: "Memory limit exceeded"},
		api.Denied:       {Number: 12},
		api.CPULimit:     {Number: 5, Text: "Time limit exceeded"},
		api.WallLimit:    {Number: 5, Text: "Time limit exceeded (wall clock)"},
		api.OutputLimit:  {Number: 8, Text: "Output limit exceeded"}, // the original writes output to a file
		api.CompileError: {Number: 6},
		api.Canceled:     {Number: 13}, // no program: its client has left
	},

	// Texts are errors of the original. What a program that fails has to say is in stderr.
	LibreChat: {
		api.OK: {}, api.Nonzero: {}, api.CompileError: {},
		api.Signaled:    {Text: "Execution failed or timed out"},
		api.Denied:      {Text: "Execution failed or timed out"},
		api.MemoryLimit: {Text: "Out of memory"},
		api.CPULimit:    {Text: "Time limit exceeded"},
		api.WallLimit:   {Text: "Time limit exceeded"},
		api.OutputLimit: {Text: "stdout length exceeded"},
		api.Canceled:    {Text: "Execution failed or timed out"}, // no program: its client has left
	},

	// Texts are statuses of isolate, and numbers signals, for a program that brig did not see end by one.
	Piston: {
		api.OK:           {},
		api.Nonzero:      {Text: "RE"},
		api.Signaled:     {Text: "SG", Number: 9},
		api.MemoryLimit:  {Text: "SG", Number: 9},
		api.Denied:       {Text: "SG", Number: 31}, // SIGSYS
		api.CPULimit:     {Text: "TO", Number: 9},
		api.WallLimit:    {Text: "TO", Number: 9},
		api.OutputLimit:  {Text: "OL", Number: 9},
		api.CompileError: {Text: "RE"},
		api.Canceled:     {Text: "XX"}, // no program: it is told as a failure
	},

	// Numbers are return codes as Python reports them: -N for signal N.
	SandboxFusion: {
		api.OK:           {Text: "Finished", Number: 0},
		api.Nonzero:      {Text: "Finished", Number: 1},
		api.Signaled:     {Text: "Finished", Number: -9},
		api.MemoryLimit:  {Text: "Finished", Number: -9},
		api.OutputLimit:  {Text: "Finished", Number: -9},
		api.Denied:       {Text: "Finished", Number: -31}, // SIGSYS
		api.CPULimit:     {Text: "TimeLimitExceeded"},
		api.WallLimit:    {Text: "TimeLimitExceeded"},
		api.CompileError: {Text: "Finished", Number: 1},
		api.Canceled:     {Text: "Error"}, // no program: its client has left
	},
}

// A Class says what a caller can do about a failure or refusal of brig.
type Class string

// The classes.
const (
	Retry     Class = "retry"     // send the same request again later: a run has no effect outside its sandbox
	Broken    Class = "broken"    // the operator must act: the same request fails again
	Refused   Class = "refused"   // the request asks for what it may not have, or makes no sense
	TooLarge  Class = "too-large" // the request is too large
	NoKey     Class = "no-key"    // the request has no key, or an unknown one
	Forbidden Class = "forbidden" // a page of another origin, or more than the key may ask for
	NotFound  Class = "not-found" // there is no such path, or no such thing of this key
)

// ClassValues returns all classes.
func ClassValues() []Class {
	return []Class{Retry, Broken, Refused, TooLarge, NoKey, Forbidden, NotFound}
}

// Classes is the class of each code.
var Classes = map[api.Code]Class{
	api.CodeBusy: Retry, api.CodeOverloaded: Retry, api.CodeHostMemory: Retry, api.CodeHostExhausted: Retry,
	api.CodeSetupTimeout: Retry, api.CodeStopping: Retry, api.CodeInternal: Retry, api.CodeAgentGone: Retry,
	api.CodeAgentUnreachable: Retry, api.CodeImageDamaged: Retry, api.CodeSessionBusy: Retry, api.CodeSessionsFull: Retry,
	api.CodeQueueFull: Retry, api.CodeKeyQueueFull: Retry, api.CodeQueueTimeout: Retry, api.CodeTooManyConns: Retry,
	api.CodeTooManyBodies: Retry, api.CodeBatchesFull: Retry, api.CodePackagesMissing: Retry,

	// A dialect asks for images, languages, profiles and commands that the operator has, or lacks: its caller cannot
	// help it. A run of a dialect that is canceled by somebody else than its client has no other code.
	api.CodeNoLanguage: Broken, api.CodeNoImage: Broken, api.CodeBadImage: Broken, api.CodeNoProfile: Broken,
	api.CodeBadProfile: Broken, api.CodeNoProgram: Broken, api.CodeBadProgram: Broken, api.CodeUnsupported: Broken,
	api.CodeBadVolume: Broken, api.CodePackagesFailed: Broken, api.CodeCheckFailed: Broken, api.CodePoison: Broken,
	api.CodeCanceled: Broken, api.CodeNoProblem: Broken, api.CodeBadProblem: Broken, api.CodeCheckRefused: Broken,
	api.CodeSessionEnded: Broken, api.CodeConflict: Broken, api.CodeBatchClosed: Broken,
	api.CodeFileDenied: Broken, api.CodeFileConflict: Broken, api.CodeNoSpace: Broken, // of files of sessions alone

	api.CodeBadRequest: Refused, api.CodeBadLimits: Refused, api.CodeAboveCeiling: Refused, api.CodeBadFile: Refused,
	api.CodeTooLarge: TooLarge, api.CodeUnauthorized: NoKey, api.CodeForbidden: Forbidden,
	api.CodeNotFound: NotFound, api.CodeNoBlob: NotFound,
}

// Failures is the one place that renames brig's failures and refusals: for each dialect, a word for each class.
var Failures = map[string]map[Class]Word{
	// Texts are codes of sandboxd. Clients send a request again, at most five times, after 500, 502, 503 and 504.
	AgentSandbox: {
		Retry: {Status: 503, Text: "UNAVAILABLE"}, Broken: {Status: 501, Text: "INTERNAL"},
		Refused: {Status: 400, Text: "INVALID_ARGUMENT"}, TooLarge: {Status: 413, Text: "INVALID_ARGUMENT"},
		NoKey: {Status: 401, Text: "PERMISSION_DENIED"}, Forbidden: {Status: 403, Text: "PERMISSION_DENIED"},
		NotFound: {Status: 404, Text: "NOT_FOUND"},
	},

	// Statuses are of whole requests, and texts the reasons of one submission. Clients send one with the reason
	// queue_timeout again, and take every status but 200 for a failure.
	CodeJudge: {
		Retry: {Status: 503, Text: "queue_timeout"}, Broken: {Status: 500, Text: "internal_error"},
		Refused: {Status: 422, Text: "invalid_input"}, TooLarge: {Status: 413, Text: "invalid_input"},
		NoKey: {Status: 401, Text: "internal_error"}, Forbidden: {Status: 403, Text: "internal_error"},
		NotFound: {Status: 404, Text: "internal_error"},
	},

	// Statuses are of the API and of files, and texts codes of envd's protocol. Clients send nothing again by themselves;
	// they have an error of its own for 429, which a caller may try again after.
	E2B: {
		Retry: {Status: 429, Text: "resource_exhausted"}, Broken: {Status: 500, Text: "internal"},
		Refused: {Status: 400, Text: "invalid_argument"}, TooLarge: {Status: 413, Text: "invalid_argument"},
		NoKey: {Status: 401, Text: "unauthenticated"}, Forbidden: {Status: 403, Text: "permission_denied"},
		NotFound: {Status: 404, Text: "not_found"},
	},

	// Clients take every status but 200 for a failure of the sandbox. The original has 500 for all of its own, also for a
	// full queue.
	GoJudge: {
		Retry: {Status: 500}, Broken: {Status: 500}, Refused: {Status: 400}, TooLarge: {Status: 413}, NoKey: {Status: 401},
		Forbidden: {Status: 403}, NotFound: {Status: 404},
	},

	// CodeRunner tells a student to try again later after outcome 21, which is not graded. It grades the original's outcome
	// of a failure, 20, as a wrong answer, and takes an HTTP error for a failure of the sandbox.
	Jobe: {
		Retry: {Status: 200, Number: 21}, Broken: {Status: 500}, Refused: {Status: 400}, TooLarge: {Status: 413},
		NoKey: {Status: 403}, Forbidden: {Status: 403}, NotFound: {Status: 404},
	},

	// No client of judge0's own sends a submission again; those of others do so after 503, if at all. A failure after the
	// answer with the token has the status 13, Internal Error.
	Judge0: {
		Retry: {Status: 503}, Broken: {Status: 500}, Refused: {Status: 422}, TooLarge: {Status: 413}, NoKey: {Status: 401},
		Forbidden: {Status: 403}, NotFound: {Status: 404},
	},

	// No client sends a request again. Jupyter's own server passes the status and the message on.
	Jupyter: {
		Retry: {Status: 503}, Broken: {Status: 500}, Refused: {Status: 400}, TooLarge: {Status: 413}, NoKey: {Status: 403},
		Forbidden: {Status: 403}, NotFound: {Status: 404},
	},

	// Texts are reasons of a metav1.Status. client-go sends a request again after 429 and 5xx with Retry-After, but not that
	// of a WebSocket.
	Kubernetes: {
		Retry: {Status: 503, Text: "ServiceUnavailable"}, Broken: {Status: 500, Text: "InternalError"},
		Refused: {Status: 400, Text: "BadRequest"}, TooLarge: {Status: 413, Text: "RequestEntityTooLarge"},
		NoKey: {Status: 401, Text: "Unauthorized"}, Forbidden: {Status: 403, Text: "Forbidden"},
		NotFound: {Status: 404, Text: "NotFound"},
	},

	// Clients tell the model to try again after most statuses, and show no text of ours. Too much to do has the status 429,
	// for which there is no class.
	LibreChat: {
		Retry:     {Status: 503, Text: "Service unavailable"},
		Broken:    {Status: 500, Text: "Internal server error"},
		Refused:   {Status: 400, Text: "Invalid request"},
		TooLarge:  {Status: 413, Text: "File size limit exceeded"},
		NoKey:     {Status: 401, Text: "Unauthorized"},
		Forbidden: {Status: 403, Text: "Forbidden"},
		NotFound:  {Status: 404, Text: "Not found"},
	},

	// open-r1 sends a request again after every status but 200, at most five times; others after 503, if at all.
	Piston: {
		Retry: {Status: 503}, Broken: {Status: 500}, Refused: {Status: 400}, TooLarge: {Status: 413}, NoKey: {Status: 401},
		Forbidden: {Status: 403}, NotFound: {Status: 404},
	},

	// verl sends a request again after HTTP 504, and after nothing else. It takes every other status for a failure too,
	// and none for an answer.
	SandboxFusion: {
		Retry: {Status: 504}, Broken: {Status: 500}, Refused: {Status: 422}, TooLarge: {Status: 413}, NoKey: {Status: 401},
		Forbidden: {Status: 403}, NotFound: {Status: 404},
	},
}

// FailureOf returns the word of a dialect for a problem. A code that is not in the table may be retried: it is brig's.
func FailureOf(name string, p *api.Problem) Word {
	class, known := Classes[p.Code]
	if !known {
		class = Retry
	}
	return Failures[name][class]
}
