package piston

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// An answer is what POST /execute returns. Its JSON has its fields in this order.
type answer struct {
	Compile  *stage `json:"compile,omitempty"` // absent: the original has no such stage for the language
	Run      *stage `json:"run"`
	Language string `json:"language"`
	Version  string `json:"version"`
}

// A stage is how the compiler or the program ended. Its JSON has its fields in this order.
type stage struct {
	Signal   *string `json:"signal"` // null: it exited
	Stdout   string  `json:"stdout"`
	Stderr   string  `json:"stderr"`
	Code     *int    `json:"code"` // null: it was ended
	Output   string  `json:"output"`
	Memory   *int64  `json:"memory"`  // bytes
	Message  *string `json:"message"` // null: it exited with 0
	Status   *string `json:"status"`  // the same
	CPUTime  *int64  `json:"cpu_time"`
	WallTime *int64  `json:"wall_time"` // milliseconds
}

// tell tells the result of a run, and in which order it wrote to its streams.
func tell(res api.Result, order dialect.Order, rt runtime) dialect.Response {
	if res.Verdict == api.Canceled { // nothing is known of the program
		p := &api.Problem{Code: api.CodeCanceled, Detail: "the run was canceled before the program ended"}
		return fail(p, dialect.FailureOf(dialect.Piston, p))
	}

	a := answer{Language: rt.id, Version: rt.version().String()}
	ended := stageOf(res, order)
	a.Run = &ended
	switch {
	case !rt.compiled:
	case res.Stage == api.StageCompile: // the original repeats it where clients look for the program's output
		a.Compile = &ended
	default:
		compiled := compilation(res.Compile)
		a.Compile = &compiled
	}
	return respond(200, a)
}

// The statuses of the original, of isolate.
const (
	exited      = "RE" // with a code that is not 0
	signaled    = "SG"
	timedOut    = "TO"
	outputLimit = "OL"
	errorLimit  = "EL" // of stderr
)

// stageOf tells the stage that a result describes.
func stageOf(res api.Result, order dialect.Order) stage {
	verdict := verdictOf(res)
	word := dialect.Verdicts[dialect.Piston][verdict]
	s := outputOf(whole(res.Stdout, res.StdoutTruncated), whole(res.Stderr, res.StderrTruncated), order, res.Usage, res.Timing)
	end := func(status, signal, message string) stage {
		s.Status, s.Signal, s.Message = &status, &signal, &message
		return s
	}
	exit := func(code int, message string) stage {
		status := exited
		s.Status, s.Code, s.Message = &status, &code, &message
		return s
	}

	signal := cmp.Or(res.Signal, word.Number)
	name := cmp.Or(res.SignalName, signalName(signal))
	switch {
	case verdict == api.OK:
		zero := 0
		s.Code = &zero
		return s
	case verdict == api.CPULimit:
		return end(word.Text, "SIGKILL", "Time limit exceeded")
	case verdict == api.WallLimit:
		return end(word.Text, "SIGKILL", "Time limit exceeded (wall clock)")
	case verdict == api.OutputLimit && res.StderrTruncated && !res.StdoutTruncated:
		return end(errorLimit, "SIGKILL", "stderr length exceeded")
	case verdict == api.OutputLimit:
		return end(word.Text, "SIGKILL", "stdout length exceeded")
	case verdict == api.MemoryLimit && res.Signal == 0 && res.ExitCode > 0: // it noticed it by itself
		return exit(res.ExitCode, "Memory limit exceeded")
	case verdict == api.MemoryLimit:
		return end(word.Text, name, "Memory limit exceeded")
	case verdict == api.Denied && res.Denial != nil:
		return end(word.Text, name, fmt.Sprintf("Caught fatal signal %d: the system call %s is not allowed", signal, res.Denial.Syscall))
	case word.Text == signaled:
		return end(word.Text, name, fmt.Sprintf("Caught fatal signal %d", signal))
	}

	code := max(res.ExitCode, 1)
	return exit(code, fmt.Sprintf("Exited with error status %d", code))
}

// signalName names a signal that brig does not name: those of the table of verdicts, and those for programs' own use.
func signalName(n int) string {
	const first, last = 34, 64
	switch {
	case n == 9:
		return "SIGKILL"
	case n == 31:
		return "SIGSYS"
	case n == first:
		return "SIGRTMIN"
	case n == last:
		return "SIGRTMAX"
	case n > first && n < 50:
		return fmt.Sprintf("SIGRTMIN+%d", n-first)
	case n >= 50 && n < last:
		return fmt.Sprintf("SIGRTMAX-%d", last-n)
	}
	return fmt.Sprintf("SIG%d", n)
}

// verdictOf is the verdict of the stage that a result describes: that of the compiler is made of its evidence.
func verdictOf(res api.Result) api.Verdict {
	hit := func(name string) bool { return slices.Contains(res.LimitsHit, name) }
	switch {
	case res.Verdict != api.CompileError:
		return res.Verdict
	case res.Denial != nil:
		return api.Denied
	case res.ExitCode > 0:
		return api.Nonzero
	case hit(api.HitMemory):
		return api.MemoryLimit
	case hit(api.HitCPU):
		return api.CPULimit
	case hit(api.HitWall):
		return api.WallLimit
	case hit(api.HitOutput):
		return api.OutputLimit
	case res.Signal > 0:
		return api.Signaled
	}
	return api.CompileError
}

// compilation tells a compile stage that succeeded.
func compilation(c *api.Compilation) stage {
	if c == nil { // brig needs no compiler where the original has one
		c = new(api.Compilation)
	}
	s := outputOf(whole(c.Stdout, c.StdoutTruncated), whole(c.Stderr, c.StderrTruncated), nil, c.Usage, c.Timing)
	zero := 0
	s.Code = &zero
	return s
}

// outputOf tells what a stage wrote and used. Of a compiler the order is not known: what it says is on one stream.
func outputOf(stdout, stderr api.Bytes, order dialect.Order, used api.Usage, timing api.Timing) stage {
	s := stage{Stdout: dialect.Text(stdout), Stderr: dialect.Text(stderr), Memory: used.Memory.Value}
	s.Output = dialect.Text(order.Merge(stdout, stderr))
	if used.CPU.Value != nil {
		s.CPUTime = inMilliseconds(*used.CPU.Value)
	}
	s.WallTime = inMilliseconds(timing.Wall)
	return s
}

// whole returns a stream without half a character at the end at which brig cut it.
func whole(b api.Bytes, cut bool) api.Bytes {
	if !cut {
		return b
	}
	return b[:len(b)-b.IncompleteTail()]
}

func inMilliseconds(ns int64) *int64 {
	v := int64(math.Round(float64(ns) / float64(time.Millisecond)))
	return &v
}
