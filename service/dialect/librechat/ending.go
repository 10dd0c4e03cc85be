package librechat

import (
	"cmp"
	"fmt"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// The client shows a model stdout, stderr and files of a response with the status 200, and of every other one a text of
// its own, which the status selects. So stderr is the one place where a model, and its user, can read what happened.

// ending says in one sentence how a program ended, where its output does not: that nothing was printed is else the only
// thing that the client shows. It is empty for a program that says it itself.
func ending(res api.Result) string {
	l, ended := res.Limits, "The program was ended: "
	switch res.Verdict {
	case api.OK, api.CompileError:
		return ""
	case api.Nonzero:
		if len(res.Stderr) > 0 {
			return ""
		}
		return fmt.Sprintf("The program ended with the exit code %d.", res.ExitCode)
	case api.MemoryLimit:
		return ended + "it needed more memory than its limit" + of(l.Memory, l.Memory.About()) + ". Work on less data at a time."
	case api.CPULimit:
		return ended + "it used more processor time than its limit" + of(l.CPU, l.CPU.String()) + ". Do less in one call."
	case api.WallLimit:
		return ended + "it ran for longer than its limit" + of(l.Wall, l.Wall.String()) + ". Do less in one call."
	case api.OutputLimit:
		return ended + "it wrote more output than its limit" + of(l.Output, l.Output.About()) + ". Write to a file in its place."
	case api.Denied:
		call := "a system call"
		if res.Denial != nil {
			call = "the system call " + res.Denial.Syscall
		}
		return ended + "it made " + call + ", which is not permitted here."
	case api.Signaled:
		return ended + "it got the signal " + cmp.Or(res.SignalName, fmt.Sprint(res.Signal)) + "."
	}
	return "The call was canceled before the program had ended."
}

// of names a limit, if it is known.
func of[T ~int64](limit T, text string) string {
	if limit == 0 {
		return ""
	}
	return " of " + text
}

// notRun answers that a program was not run for a reason that a model or its user can remove, such as a file that is no
// longer kept. It is no failure in the eyes of the client: for all statuses of failures it hides the reason.
func notRun(session, language, why string) dialect.Response {
	e := execution{Session: session, Language: language, Error: failed, Stderr: "The program was not run: " + why + "\n"}
	e.Run = stage{Stderr: e.Stderr, Output: e.Stderr}
	return respond(200, e)
}
