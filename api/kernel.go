package api

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// A KernelRequest asks for a kernel in a session: an interpreter that keeps its variables from one cell to the next. The
// zero value of every optional field is its default.
type KernelRequest struct {
	Language KernelLanguage    `json:"language,omitempty" doc:"its interpreter must be in the session's image; empty: python" enum:"python,javascript,bash"`
	Cwd      string            `json:"cwd,omitempty" doc:"the directory in which the interpreter starts, absolute or relative to /box; empty: /box"`
	Env      map[string]string `json:"env,omitempty" doc:"environment variables; they override the session's"`
	Tag      string            `json:"tag,omitempty" doc:"a name of the caller's, at most 200 bytes; a session has one kernel of a tag"`
}

// A KernelLanguage is a language that kernels have.
type KernelLanguage string

// The languages of kernels.
const (
	KernelPython     KernelLanguage = "python"
	KernelJavaScript KernelLanguage = "javascript"
	KernelBash       KernelLanguage = "bash"
)

// KernelLanguages are all of them.
var KernelLanguages = []KernelLanguage{KernelPython, KernelJavaScript, KernelBash}

// The bounds of kernels.
const (
	SessionKernels = 8       // of a session
	KernelCells    = 16      // of a kernel that wait
	MaxCell        = 1 * MiB // of code
	MaxAnswer      = 1 * MiB // the JSON of a value
	maxKernelPath  = 4096
)

// Validate refuses a kernel that nobody could start.
func (k KernelRequest) Validate() error {
	switch {
	case k.Language != "" && !slices.Contains(KernelLanguages, k.Language):
		return Refuse(CodeBadRequest, "language %.40q: a kernel has one of %q", k.Language, KernelLanguages)
	case len(k.Cwd) > maxKernelPath || strings.ContainsRune(k.Cwd, 0):
		return Refuse(CodeBadRequest, "cwd of %d bytes: use at most %d, without NUL", len(k.Cwd), maxKernelPath)
	case len(k.Tag) > maxTag:
		return Refuse(CodeBadRequest, "tag has %d bytes: the maximum is %d", len(k.Tag), maxTag)
	}
	return validateKernelEnv(k.Env)
}

// A Kernel is a kernel as it is now.
type Kernel struct {
	ID       string         `json:"id" doc:"id of the kernel"`
	Session  string         `json:"session_id" doc:"id of its session"`
	Language KernelLanguage `json:"language" doc:"its language" enum:"python,javascript,bash"`
	Cwd      string         `json:"cwd" doc:"the directory in which its interpreter starts"`
	Tag      string         `json:"tag,omitempty" doc:"as requested"`
	State    KernelState    `json:"state" doc:"whether it executes a cell"`
	Count    int            `json:"count" doc:"cells that its interpreter has executed"`
	Waiting  int            `json:"waiting" doc:"cells that wait for their turn"`
	Created  time.Time      `json:"created" doc:"when it was created"`
	Used     time.Time      `json:"used" doc:"when its state last changed, such as at the begin or the end of a cell"`
}

// A KernelState says whether a kernel executes a cell.
type KernelState string

// The states of a kernel.
const (
	KernelStarting KernelState = "starting" // its interpreter starts
	KernelIdle     KernelState = "idle"     // it waits for a cell
	KernelBusy     KernelState = "busy"     // it executes one
	KernelDead     KernelState = "dead"     // its interpreter has ended; the next cell starts another
)

// A Cell is code for a kernel.
type Cell struct {
	Code    string            `json:"code" doc:"at most 1 MiB; the value of a last expression is its result"`
	Env     map[string]string `json:"env,omitempty" doc:"environment variables of this cell alone"`
	Timeout Duration          `json:"timeout,omitempty" doc:"the cell is interrupted after this time; zero: as long as the session lives"`
	Silent  bool              `json:"silent,omitempty" doc:"it has no result, and is not counted"`
}

// Validate refuses a cell that no kernel could execute.
func (c Cell) Validate() error {
	switch {
	case Size(len(c.Code)) > MaxCell:
		return Refuse(CodeTooLarge, "code of %d bytes: a cell has at most %s: put it into a file", len(c.Code), MaxCell)
	case strings.ContainsRune(c.Code, 0):
		return Refuse(CodeBadRequest, "code with a NUL: no interpreter reads one: leave it out")
	case c.Timeout < 0:
		return Refuse(CodeBadRequest, "timeout %s: use a time above zero, or leave it out", c.Timeout)
	}
	return validateKernelEnv(c.Env)
}

// validateKernelEnv checks variables as those of a run.
func validateKernelEnv(env map[string]string) error {
	return Run{Argv: []string{"kernel"}, Env: env}.validateArgs()
}

// A KernelAnswer is the answer to a call that a cell waits for.
type KernelAnswer struct {
	ID    string          `json:"id" doc:"of the event ask"`
	Value json.RawMessage `json:"value,omitempty" doc:"what the call returns: any JSON, at most 1 MiB; absent: null"`
	Error string          `json:"error,omitempty" doc:"the call fails with this text instead"`
}

// Validate refuses an answer that no call could have.
func (a KernelAnswer) Validate() error {
	switch {
	case a.ID == "":
		return Refuse(CodeBadRequest, "id is missing: send the id of the event ask")
	case Size(len(a.Value)+len(a.Error)) > MaxAnswer:
		return Refuse(CodeTooLarge, "an answer of %d bytes: it has at most %s: put it into a file of the session",
			len(a.Value)+len(a.Error), MaxAnswer)
	}
	return nil
}

// A CellEvent is a line of the response to a cell. It has the fields of its type alone. All but start, end and keepalive
// are words of the program, which may say anything.
type CellEvent struct {
	Type CellEventType `json:"type" doc:"what it tells" enum:"start,stdout,stderr,display,result,error,ask,end,keepalive"`

	Count int    `json:"count,omitempty" doc:"start: the number of the cell"`
	Text  string `json:"text,omitempty" doc:"stdout, stderr: what was written; bytes that are no UTF-8 are replaced"`

	Data     map[string]json.RawMessage `json:"data,omitempty" doc:"display, result: a value in its forms, by MIME type; binary ones are in base64"`
	Metadata map[string]json.RawMessage `json:"metadata,omitempty" doc:"display, result: what the program says about the forms"`

	Name      string   `json:"name,omitempty" doc:"error: its kind; ask: the tool"`
	Value     string   `json:"value,omitempty" doc:"error: its text"`
	Traceback []string `json:"traceback,omitempty" doc:"error: the lines that say where"`

	ID    string          `json:"id,omitempty" doc:"ask: for the answer"`
	Args  json.RawMessage `json:"args,omitempty" doc:"ask: a list of arguments"`
	Named json.RawMessage `json:"named,omitempty" doc:"ask: arguments with names"`

	Status    CellStatus `json:"status,omitempty" doc:"end: how the cell ended" enum:"ok,error,interrupted,timeout,died"`
	Restarted bool       `json:"restarted,omitempty" doc:"end: the variables are lost, and the next cell has a fresh interpreter; start: this is the first cell of such an interpreter"`
}

// A CellEventType says what an event tells.
type CellEventType string

// The types of events.
const (
	CellEventStart     CellEventType = "start"
	CellEventStdout    CellEventType = "stdout"
	CellEventStderr    CellEventType = "stderr"
	CellEventDisplay   CellEventType = "display"
	CellEventResult    CellEventType = "result"
	CellEventError     CellEventType = "error"
	CellEventAsk       CellEventType = "ask"
	CellEventEnd       CellEventType = "end"
	CellEventKeepAlive CellEventType = "keepalive"
)

// A CellStatus says how a cell ended.
type CellStatus string

// How a cell can end.
const (
	CellOK          CellStatus = "ok"
	CellError       CellStatus = "error"       // of its code
	CellInterrupted CellStatus = "interrupted" // by a request, or because its client has left
	CellTimeout     CellStatus = "timeout"     // it was interrupted at its timeout
	CellDied        CellStatus = "died"        // its interpreter has ended
)
