package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose/messages"
)

// Explain explains a failed result. It returns nil if the verdict is ok, canceled or empty. If the
// language is unknown or empty, Explain does not parse the output of the program.
//
// sourceName is the name of the program's source in /box, or empty if it is unknown. Explain uses
// it for compilers that name no file. source is the text of the source, or nil. Explain needs it to
// find wrong line ends and encodings.
func Explain(language, sourceName string, source []byte, r api.Result) *api.Diagnosis {
	var d api.Diagnosis
	switch r.Verdict {
	case api.OK, api.Canceled, "":
		return nil
	case api.CompileError:
		if d = explainCompiler(language, r); d.File == "" && r.Signal == 0 { // for example a program without a main
			d.File = messages.OwnFile(sourceName)
		}
	case api.Nonzero, api.Signaled:
		if d = explainStart(language, r); d.Message == "" {
			d = explainProgram(language, r)
		}
	default:
		d = explainLimit(r)
	}

	if d.File == "" && d.Line > 0 { // the tool names no file: it had one source
		d.File = messages.OwnFile(sourceName)
	}
	if r.Verdict == api.Nonzero || r.Verdict == api.Signaled {
		d.Hint = cmp.Or(hintOfShortage(d, r), d.Hint)
	}

	d.Hint = cmp.Or(messages.HintOfTrap(language, d), cmp.Or(hintOfNetwork(d, r), d.Hint))
	d.Hint = cmp.Or(d.Hint, hintOfLimits(r))
	d.Hint = cmp.Or(hintOfText(language, sourceName, source, d), d.Hint)
	d = messages.Bounded(d)
	return &d
}

// Annotate sets the diagnosis of a failed result and of each failed test. The diagnosis of a run with
// tests is that of the first test with the run's verdict.
func Annotate(language, sourceName string, source []byte, r *api.Result) {
	for i := range r.Tests {
		one := &r.Tests[i].Result
		one.Diagnosis = Explain(language, sourceName, source, *one)
		if r.Diagnosis == nil && one.Verdict == r.Verdict {
			r.Diagnosis = one.Diagnosis
		}
	}
	if len(r.Tests) == 0 {
		r.Diagnosis = Explain(language, sourceName, source, *r)
	}
}

// Errors returns the errors in the output of a compiler or syntax checker of a language, in the
// order of the output. It returns at most 100 errors.
func Errors(language string, output []byte) []api.Diagnosis {
	all := messages.Errors(language, messages.NewText(output))
	for i := range all {
		all[i] = messages.Bounded(all[i])
	}
	return all
}

func explainCompiler(language string, r api.Result) api.Diagnosis {
	if len(r.LimitsHit) == 0 && r.Signal == 0 && r.Denial == nil {
		output := messages.NewText(r.Stdout, r.Stderr) // some compilers write their errors to stdout
		if all := messages.Errors(language, output); len(all) > 0 {
			return all[0]
		}
		return api.Diagnosis{Category: api.CategoryCompile, Type: string(r.Verdict),
			Message: cmp.Or(output.Last(), "the program does not compile")}
	}

	d := api.Diagnosis{Category: api.CategoryCompile, Type: string(r.Verdict)}
	switch {
	case r.Denial != nil:
		return explainDenial(r)
	case hit(r, api.HitMemory):
		d.Category, d.Message = api.CategoryMemory, "the compiler reached its memory limit"
		d.Hint = "the compiler needs more memory than its limit: make the program smaller, or raise the limit"
	case hit(r, api.HitCPU), hit(r, api.HitWall):
		d.Category, d.Message = api.CategoryTime, "the compiler reached its time limit"
		d.Hint = "look for templates, macros or constants that take very long to evaluate"
	case hit(r, api.HitOutput):
		d.Category, d.Message = api.CategoryOutput, "the compiler printed more than its output limit"
		d.Hint = "fix the first error that it reports: most others follow from it"
	case r.Signal != 0:
		d.Message = fmt.Sprintf("the compiler ended with %s", cmp.Or(r.SignalName, fmt.Sprint("signal ", r.Signal)))
	default:
		d.Message = "the compiler reached its limit on " + strings.Join(r.LimitsHit, ", ")
	}

	return d
}

// written is where the program's errors are: stderr, or stdout if both are one.
func written(r api.Result) api.Bytes {
	if r.StderrMerged {
		return r.Stdout
	}
	return r.Stderr
}

// explainProgram explains the end of a program that brig did not stop. It uses what the program
// wrote to stderr, or else its signal or exit code.
func explainProgram(language string, r api.Result) api.Diagnosis {
	output := messages.NewText(written(r))
	if d, ok := messages.Program(language, output); ok {
		return d
	}
	if r.Verdict == api.Signaled {
		return explainSignal(r)
	}
	return api.Diagnosis{Category: api.CategoryRuntime, Type: string(r.Verdict),
		Message: cmp.Or(output.Last(), fmt.Sprintf("exit code %d", r.ExitCode))}
}
