package sandboxfusion

import (
	"encoding/base64"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// An answer is what POST /run_code returns. Every field is always there.
type answer struct {
	Status          string            `json:"status"`
	Message         string            `json:"message"`
	CompileResult   *command          `json:"compile_result"`
	RunResult       *command          `json:"run_result"`
	ExecutorPodName *string           `json:"executor_pod_name"`
	Files           map[string]string `json:"files"` // base64
}

// A command is how the compiler or the program ended.
type command struct {
	Status        string   `json:"status"`
	ExecutionTime *float64 `json:"execution_time"` // seconds
	ReturnCode    *int     `json:"return_code"`    // -N: ended by signal N; null: ended for its time
	Stdout        *string  `json:"stdout"`
	Stderr        *string  `json:"stderr"`
}

const (
	success      = "Success"
	failed       = "Failed"
	sandboxError = "SandboxError"

	finished  = "Finished"
	timeLimit = "TimeLimitExceeded"

	maxStream = 1 * api.MiB // of each stream that the original reads
)

// tell tells the result of a run.
func tell(res api.Result, of language, fetch []fetched) answer {
	a := answer{Files: map[string]string{}}
	ended := commandOf(res)
	switch {
	case !of.compiled:
		a.RunResult = &ended
	case res.Stage == api.StageCompile:
		a.CompileResult = &ended
	default:
		compiled := compilation(res.Compile)
		a.CompileResult, a.RunResult = &compiled, &ended
	}

	a.Status = status(a.CompileResult, a.RunResult)
	for _, f := range fetch {
		i := slices.IndexFunc(res.Files, func(g api.File) bool { return g.Name == f.name })
		if i >= 0 {
			a.Files[f.asked] = base64.StdEncoding.EncodeToString(res.Files[i].Content)
		}
	}

	// A file that is there and does not come back must not look as if the program had not written it.
	if len(fetch) > 0 {
		for _, s := range res.Skipped {
			if s.Reason != api.NoSuchFile {
				a.Status, a.Message = sandboxError, "fetch_files: "+s.Name+": "+s.Reason
				break
			}
		}
	}
	return a
}

// status sums up how the commands ended.
func status(all ...*command) string {
	sum := success
	for _, c := range all {
		switch {
		case c == nil:
		case c.Status != finished && c.Status != timeLimit:
			return sandboxError
		case c.Status == timeLimit, c.ReturnCode != nil && *c.ReturnCode != 0:
			sum = failed
		}
	}
	return sum
}

// commandOf tells the stage that a result describes.
func commandOf(res api.Result) command {
	verdict := res.Verdict
	if verdict == api.CompileError && slices.ContainsFunc(res.LimitsHit, func(l string) bool { return l == api.HitWall || l == api.HitCPU }) {
		verdict = api.WallLimit
	}

	word := dialect.Verdicts[dialect.SandboxFusion][verdict]
	c := command{Status: word.Text, ExecutionTime: inSeconds(res.Timing.Wall), Stdout: text(res.Stdout), Stderr: text(res.Stderr)}
	if word.Text == finished {
		code := returnCode(res, word.Number)
		c.ReturnCode = &code
	}
	return c
}

// returnCode is the exit code as Python reports it, or the one of the verdict if the program has none of its own.
func returnCode(res api.Result, otherwise int) int {
	switch {
	case res.Signal > 0:
		return -res.Signal
	case res.ExitCode > 0:
		return res.ExitCode
	}
	return otherwise
}

// compilation tells a compile stage that succeeded.
func compilation(c *api.Compilation) command {
	if c == nil { // brig needs no compiler where the original has one
		c = new(api.Compilation)
	}
	zero := 0
	return command{Status: finished, ExecutionTime: inSeconds(c.Timing.Wall), ReturnCode: &zero, Stdout: text(c.Stdout),
		Stderr: text(c.Stderr)}
}

func inSeconds(ns int64) *float64 {
	v := time.Duration(ns).Seconds()
	return &v
}

// text returns as much of a stream as the original reads; bytes that are no text become U+FFFD.
func text(b api.Bytes) *string {
	if len(b) > int(maxStream) {
		b = b[:maxStream]
		b = b[:len(b)-b.IncompleteTail()]
	}
	s := dialect.Text(b)
	return &s
}
